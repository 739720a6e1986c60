"""A part of a log as a share-partition is told of it: what is for now, and what for later, in order."""

from __future__ import annotations

from groups.share.delivery import Limits
from groups.share.found import Acquired, Found, Later
from groups.share.share_partition import SharePartition
from groups.share.states import Cause, RecordState
from tests.groups.share.requests import wish

LIMITS = Limits(lock_ms=1_000, delivery_count_max=5, in_flight_max=2_000)


def test_pieces_are_in_order_with_their_moments_and_sizes() -> None:
    found = Found(0, [(0, 2), (5, 6)], 9, [Later(3, 4, 700), Later(7, 8, 900)], [10, 20])
    early, late = found.later
    assert list(found.pieces()) == [(0, 2, None, 10), (3, 4, early, 0), (5, 6, None, 20), (7, 8, late, 0)]
    assert list(Found(0, [(0, 2)], 3).pieces()) == [(0, 2, None, 0)]


def test_records_for_later_stay_and_do_not_keep_what_follows() -> None:
    partition = SharePartition(0)
    found = Found(0, [(0, 1), (4, 5)], 6, [Later(2, 3, 500)])
    assert partition.acquire(wish(), LIMITS, found, 0) == [Acquired(0, 1, 1), Acquired(4, 5, 1)]
    assert partition.next_fetch_offset("m1", 499) == 6
    assert partition.next_lock_deadline() == 500
    assert partition.next_fetch_offset("m1", 500) == 2
    assert partition.acquire(wish("m2"), LIMITS, Found(2, [(2, 5)], 6), 499) == []
    assert partition.acquire(wish("m2"), LIMITS, Found(2, [(2, 5)], 6), 500) == [Acquired(2, 3, 1)]


def test_the_deadline_of_what_is_for_later_makes_it_like_other_available_records() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, Found(0, [], 4, [Later(0, 1, 500), Later(2, 3, 600)]), 0)
    assert partition.expire(LIMITS, 550)[0] is None
    assert partition.next_lock_deadline() == 600
    assert partition.expire(LIMITS, 600)[0] is None
    (part,) = partition.ranges
    assert (part.first, part.last, part.facts.state) == (0, 3, RecordState.AVAILABLE)
    assert (part.facts.lock_until_ms, partition.next_lock_deadline()) == (0, None)


def test_the_log_ends_what_was_for_later() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, Found(0, [], 4, [Later(0, 3, 500)]), 0)
    assert (partition.start, partition.end) == (0, 4)
    partition.move_log_start(4)
    assert (partition.start, partition.end) == (4, 4)


def test_what_is_given_up_waits_for_letters_though_it_was_never_delivered() -> None:
    partition = SharePartition(0)
    change = partition.give_up([(2, 3)], Cause.EXPIRED)
    assert change is not None
    assert [(part.first, part.last, part.state, part.cause) for part in change.ranges] == [
        (2, 3, RecordState.ARCHIVING, "expired")
    ]
    assert partition.acquire(wish(), LIMITS, Found(0, [(0, 1), (4, 4)], 5), 0) == [
        Acquired(0, 1, 1), Acquired(4, 4, 1),
    ]  # fmt: skip
    partition.settle(change)
    assert [(part.first, part.last) for part in partition.archiving()] == [(2, 3)]
    assert partition.give_up([(0, 4)], Cause.EXPIRED) is None, "what members have is theirs"
