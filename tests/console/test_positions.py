"""The places where reading begins and ends."""

from datetime import datetime
from typing import NamedTuple

import pytest

from console.errors import CommandError, UsageError
from console.positions import (
    EARLIEST,
    LATEST,
    Extent,
    Position,
    PositionKind,
    end_offsets,
    extents_of,
    first_offsets,
    parse_position,
)


class Partition(NamedTuple):
    topic: str
    partition: int


class Found(NamedTuple):
    offset: int


class Broker:
    """A source of offsets, as a consumer is: nothing is newer than `newest`."""

    def __init__(self, newest: int = 1000) -> None:
        self.newest = newest

    def offsets_for_times(self, times: dict[Partition, int]) -> dict[Partition, Found | None]:
        return {
            partition: Found(time // 100) if time <= self.newest else None
            for partition, time in times.items()
        }

    def beginning_offsets(self, partitions: list[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 5)

    def end_offsets(self, partitions: list[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 15)


ZERO, ONE = Partition("t", 0), Partition("t", 1)
EXTENTS = {ZERO: Extent(0, 10), ONE: Extent(5, 7)}


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", EARLIEST),
        (" latest ", LATEST),
        ("1234", Position(PositionKind.OFFSET, 1234)),
        ("-10", Position(PositionKind.BEFORE_END, 10)),
        ("@1714564800000", Position(PositionKind.TIME, 1_714_564_800_000)),
        ("2024-05-01T12:00:00Z", Position(PositionKind.TIME, 1_714_564_800_000)),
        ("1969-12-31T23:59:59.999Z", Position(PositionKind.TIME, 0)),  # -1 would be the end
        ("0001-01-01T00:00:00Z", Position(PositionKind.TIME, 0)),
        ("2024-05-01T14:00:00.250+02:00", Position(PositionKind.TIME, 1_714_564_800_250)),
    ],
)
def test_a_position_is_read(text: str, position: Position) -> None:
    assert parse_position(text, "--from") == position


def test_a_time_without_a_zone_is_local() -> None:
    local = datetime(2024, 5, 1, 12).astimezone()
    expected = Position(PositionKind.TIME, round(local.timestamp() * 1000))
    assert parse_position("2024-05-01T12:00:00", "--from") == expected
    assert parse_position("2024-05-01 12:00", "--from") == expected


@pytest.mark.parametrize("text", ["", "now", "1.5", "--5", "@", "2024-13-01", "٣", "9" * 30])
def test_what_is_no_position_is_answered_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(UsageError, match=r"--until .* is not a position; write earliest"):
        parse_position(text, "--until")


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("earliest", [0, 5]),
        ("latest", [10, 7]),
        ("6", [6, 6]),
        ("-1", [9, 6]),
        ("-100", [0, 5]),
        ("@600", [6, 6]),
        ("@1001", [10, 7]),
    ],
)
def test_reading_begins_at_the_offset_meant_in_each_partition(text: str, offsets: list[int]) -> None:
    begins = first_offsets(parse_position(text, "--from"), EXTENTS, Broker())
    assert list(begins.values()) == offsets


def test_an_offset_that_is_not_held_is_refused() -> None:
    with pytest.raises(CommandError, match="partition 1 of 't' holds offsets 5 to 7, not 8"):
        first_offsets(Position(PositionKind.OFFSET, 8), EXTENTS, Broker())
    assert first_offsets(Position(PositionKind.OFFSET, 7), EXTENTS, Broker())[ONE] == 7


@pytest.mark.parametrize(
    ("text", "offsets"), [("6", [6, 6]), ("9", [9, 7]), ("@1001", [10, 7]), ("@0", [0, 0])]
)
def test_reading_stops_at_the_end_at_the_latest(text: str, offsets: list[int]) -> None:
    ends = end_offsets(parse_position(text, "--until"), EXTENTS, Broker())
    assert list(ends.values()) == offsets


def test_extents_are_what_the_broker_says() -> None:
    assert extents_of([ZERO, ONE], Broker()) == {ZERO: Extent(5, 15), ONE: Extent(5, 15)}
