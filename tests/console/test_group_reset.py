"""The offsets to set: the arguments, and their meaning in each partition."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.structs import OffsetAndTimestamp

from console.errors import CommandError, UsageError
from console.group_reset import Move, add_target, moves, parse_duration_s, parse_topics, read_offsets
from console.positions import Extent

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
EXTENTS = {FIRST: Extent(10, 50), SECOND: Extent(0, 5)}


class Times:
    """A consumer that finds offset 30 for every time, and nothing in the second partition."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def offsets_for_times(self, times: dict[Any, int]) -> dict[Any, Any]:
        self.asked += times.values()
        return {FIRST: OffsetAndTimestamp(30, 1, 0), SECOND: None}


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_target(parser)
    return parser.parse_args(words)


def new(*words: str, current: dict[Any, int | None] | None = None) -> list[int]:
    at = {FIRST: 20, SECOND: 5} if current is None else current
    return [move.new for move in moves(arguments(*words), at, EXTENTS, Times())]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--to", "earliest"), [10, 0]),
        (("--to", "latest"), [50, 5]),
        (("--to", "3"), [10, 3]),
        (("--to", "99"), [50, 5]),
        (("--to=-4",), [46, 1]),
        (("--to", "2026-05-01T00:00:00Z"), [30, 5]),
        (("--by-duration", "1h"), [30, 5]),
        (("--shift-by", "3"), [23, 5]),
        (("--shift-by", "-100"), [10, 0]),
    ],
)
def test_every_target_stays_within_what_the_partition_holds(
    words: tuple[str, ...], expected: list[int]
) -> None:
    assert new(*words) == expected


def test_a_move_tells_what_was_committed_before() -> None:
    assert moves(arguments("--to", "earliest"), {FIRST: None}, EXTENTS, Times()) == [Move("t", 0, None, 10)]


def test_nothing_committed_cannot_be_shifted() -> None:
    with pytest.raises(CommandError, match="nothing is committed in t-1"):
        new("--shift-by", "1", current={FIRST: 1, SECOND: None})


def test_offsets_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "offsets.csv"
    path.write_text('t,0,33\n\n"t",1,2\n')
    assert new("--from-file", str(path)) == [33, 2]
    path.write_text("t,0,33\nt,one,2\n")
    with pytest.raises(CommandError, match=r"line 2: 't,one,2' is not TOPIC,PARTITION,OFFSET"):
        read_offsets(path)
    with pytest.raises(CommandError, match="cannot be read"):
        read_offsets(tmp_path / "nothing")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1h30m", 5_400), ("7d", 604_800)])
def test_durations_are_read(text: str, seconds: int) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "h", "-1h", "1w", "1h "])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        parse_duration_s(text)


def test_topics_may_name_partitions() -> None:
    assert parse_topics(["a", "b:0,3"]) == {"a": None, "b": {0, 3}}
    for text in ("", ":1", "a:", "a:x", "a:1,"):
        with pytest.raises(UsageError, match="neither TOPIC nor"):
            parse_topics([text])


def test_one_target_must_be_given() -> None:
    for words in ((), ("--to", "latest", "--shift-by", "1")):
        with pytest.raises(SystemExit):
            arguments(*words)
