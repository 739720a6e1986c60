"""Reading as a member of a group: what is committed, and when it ends."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from kafka.structs import TopicPartition

from console.group_reader import GroupReader

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


class Consumed(NamedTuple):
    offset: int
    timestamp: int = 5
    key: bytes | None = None
    value: bytes | None = b"v"
    headers: tuple[()] = ()


class Member:
    """A consumer that is given its partitions with the first poll, and prepared records."""

    def __init__(self, *polls: dict[Any, list[int]], ends: dict[Any, int]) -> None:
        self._polls = list(polls)
        self._ends = ends
        self._positions = dict.fromkeys(ends, 0)
        self.asked_for: list[int | None] = []
        self.committed: list[dict[Any, int]] = []

    def poll(self, timeout_ms: int, max_records: int | None) -> dict[Any, list[Consumed]]:
        self.asked_for.append(max_records)
        polled = self._polls.pop(0) if self._polls else {}
        self._positions.update({key: offsets[-1] + 1 for key, offsets in polled.items()})
        return {key: [Consumed(at) for at in offsets] for key, offsets in polled.items()}

    def assignment(self) -> set[Any]:
        return set(self._ends)

    def end_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        return {key: self._ends[key] for key in partitions}

    def position(self, partition: Any) -> int:
        return self._positions[partition]

    def commit(self, offsets: dict[Any, Any]) -> None:
        self.committed.append({key: told.offset for key, told in offsets.items()})


def read(member: Member, *, follow: bool = False, left: int | None = None, closed: bool = False) -> list[int]:
    seen: list[int] = []
    events: list[int] = []
    GroupReader(
        member,
        follow=follow,
        records_left=left,
        write=lambda _, records: seen.extend(record.offset for record in records),
        flush=lambda: events.append(len(member.committed)),
        output_closed=lambda: closed,
    ).run()
    # Each flush came before its commit.
    assert events == list(range(len(events)))
    return seen


def test_what_was_there_is_printed_and_committed_after_it_was_written() -> None:
    member = Member({ZERO: [0, 1]}, {}, {ONE: [0], ZERO: [2]}, ends={ZERO: 3, ONE: 1})
    assert read(member) == [0, 1, 0, 2]
    assert member.committed == [{ZERO: 2}, {ONE: 1, ZERO: 3}]


def test_a_number_of_records_is_not_exceeded() -> None:
    member = Member({ZERO: [0, 1]}, {ZERO: [2]}, ends={ZERO: 9})
    assert read(member, left=3) == [0, 1, 2]
    assert member.asked_for == [3, 1]


def test_following_ends_when_the_output_is_closed() -> None:
    with pytest.raises(BrokenPipeError):
        read(Member({ZERO: [0]}, ends={ZERO: 1}), follow=True, closed=True)
