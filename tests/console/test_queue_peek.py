"""Records that are under way or come next: the parts of a partition, and what is read of them."""

from __future__ import annotations

import pytest

from console.client import Trouble
from console.errors import CommandError
from console.queue_peek import Segment, ask_group, peek, segments_of
from protocol.messages.kawal_queues import QueuePartition, RangeInfo
from tests.console.queues import Busy


def ranges(*found: tuple[int, int, int]) -> list[RangeInfo]:
    return [
        RangeInfo(
            first_offset=first,
            last_offset=last,
            state=state,
            delivery_count=1,
            member_id="m" if state else "",
            lock_ms=5,
        )
        for first, last, state in found
    ]


def partition(acquired: int, available: int, *found: tuple[int, int, int]) -> QueuePartition:
    return QueuePartition(
        partition_index=0,
        next_offset=10,
        end_offset=20,
        acquired=acquired,
        available=available,
        deliveries=[],
        ranges=ranges(*found),
    )


def test_what_was_never_looked_at_comes_after_all_ranges() -> None:
    assert segments_of(partition(2, 13, (0, 1, 1), (5, 7, 0))) == [
        Segment(0, 1, "acquired", 1, "m", 5),
        Segment(5, 7, "available", 1, None, None),
        Segment(10, 19, "available", 0, None, None),
    ]


def test_it_does_not_follow_ranges_that_are_only_some() -> None:
    assert [segment.first for segment in segments_of(partition(2, 13, (0, 1, 1)))] == [0]


def test_a_queue_without_records_has_no_parts() -> None:
    assert segments_of(QueuePartition(partition_index=0, deliveries=[], ranges=[])) == []


def test_records_that_never_come_end_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    Busy(monkeypatch)
    group = ask_group("h:1", "g", 10)
    trouble = Trouble()
    monkeypatch.setattr("console.fetcher.Fetcher.poll", lambda _self, _timeout_ms: {})
    found = peek("h:1", group, 5, wanted=lambda *_: True, state=None, trouble=trouble)
    with pytest.raises(CommandError, match="no records came from partition 0 of 'jobs': offset 0"):
        next(found)
