"""A share-partition: what members get, what they may say of it, and what a crash leaves."""

from __future__ import annotations

import pytest

from groups.errors import InvalidRecordState, InvalidRequest
from groups.share.acknowledgements import acknowledgement
from groups.share.delivery import Limits
from groups.share.found import Acquired, Found
from groups.share.record_range import Change, StoredRange
from groups.share.share_partition import SharePartition
from groups.share.states import ACKNOWLEDGEMENTS, AtLimit, Event, RecordState
from tests.groups.share.requests import wish

LIMITS = Limits(lock_ms=1_000, delivery_count_max=5, in_flight_max=2_000)

ACCEPT, RELEASE, REJECT, RENEW, GAP = 1, 2, 3, 4, 0


def read(*batches: tuple[int, int], first: int | None = None, end: int | None = None) -> Found:
    return Found(
        batches[0][0] if first is None else first, batches, batches[-1][1] + 1 if end is None else end
    )


def say(
    partition: SharePartition,
    first: int,
    last: int,
    *types: int,
    member_id: str = "m1",
    limits: Limits = LIMITS,
) -> Change | None:
    return partition.acknowledge(member_id, [acknowledgement(first, last, types)], limits, 0)


def settle(partition: SharePartition, change: Change | None) -> None:
    assert change is not None
    partition.settle(change)


def shown(partition: SharePartition) -> list[tuple[int, int, str, int]]:
    return [
        (part.first, part.last, part.facts.state.name.lower(), part.facts.delivery_count)
        for part in partition.ranges
    ]


def delivered(times: int, *batches: tuple[int, int]) -> SharePartition:
    """Return a share-partition whose records were given back so often."""
    partition = SharePartition(0)
    generous = LIMITS._replace(delivery_count_max=1_000)
    for _ in range(times):
        partition.acquire(wish(max_records=10_000), generous, read(*batches), 0)
        settle(partition, say(partition, batches[0][0], batches[-1][1], RELEASE, limits=generous))
    return partition


# --- acquiring ----------------------------------------------------------------------------------------------


def test_whole_batches_are_acquired_until_the_limit_is_reached() -> None:
    partition = SharePartition(0)
    got = partition.acquire(wish(max_records=15), LIMITS, read((0, 9), (10, 19), (20, 29)), 0)
    assert got == [Acquired(0, 19, 1)]
    assert partition.next_fetch_offset() == 20


def test_a_record_limit_is_exact() -> None:
    partition = SharePartition(0)
    assert partition.acquire(wish(max_records=15, exact=True), LIMITS, read((0, 9), (10, 19)), 0) == [
        Acquired(0, 14, 1)
    ]


def test_a_range_of_the_answer_ends_with_the_batch_in_which_it_has_the_best_size() -> None:
    partition = SharePartition(0)
    got = partition.acquire(wish(size=15), LIMITS, read((0, 9), (10, 19), (20, 29)), 0)
    assert got == [Acquired(0, 19, 1), Acquired(20, 29, 1)]


def test_no_record_is_acquired_twice() -> None:
    partition = SharePartition(0)
    assert partition.acquire(wish("m1"), LIMITS, read((0, 9)), 0)
    assert not partition.acquire(wish("m2"), LIMITS, read((0, 9)), 0)


def test_offsets_without_a_record_are_archived() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((5, 9), (20, 24), first=0, end=30), 0)
    assert partition.start == 5
    assert shown(partition) == [
        (5, 9, "acquired", 1), (10, 19, "archived", 0), (20, 24, "acquired", 1), (25, 29, "archived", 0),
    ]  # fmt: skip


def test_a_released_record_that_was_compacted_since_is_archived() -> None:
    partition = delivered(1, (0, 9))
    partition.acquire(wish(), LIMITS, read((5, 9), first=0), 0)
    assert partition.start == 5


def test_a_full_window_is_not_extended_but_what_was_given_back_in_it_is_acquired() -> None:
    partition, limits = SharePartition(0), LIMITS._replace(in_flight_max=20)
    partition.acquire(wish(), limits, read((0, 9), (10, 19)), 0)
    assert partition.first_acquirable(limits) is None
    settle(partition, say(partition, 5, 5, RELEASE))
    assert partition.first_acquirable(limits) == partition.next_fetch_offset()
    got = partition.acquire(wish("m2"), limits, read((0, 9), (10, 19), (20, 29), first=5), 0)
    assert got == [Acquired(5, 5, 2)]
    assert partition.end == 20


def test_a_full_window_is_not_extended_by_a_gap_after_it() -> None:
    partition, limits = delivered(1, (0, 19)), LIMITS._replace(in_flight_max=20)
    got = partition.acquire(wish(), limits, read((2, 3), (500, 509), (510, 519), first=0), 0)
    assert got == [Acquired(2, 3, 2)]
    assert (partition.start, partition.end) == (2, 20)
    assert shown(partition) == [(2, 3, "acquired", 2), (4, 19, "archived", 0)]


def test_records_delivered_often_go_out_in_smaller_portions() -> None:
    partition = delivered(3, (0, 99))
    assert partition.acquire(wish(size=32), LIMITS, read((0, 99)), 0) == [Acquired(0, 15, 4)]
    assert partition.acquire(wish("m2", size=32), LIMITS, read((0, 99)), 0) == [Acquired(16, 31, 4)]


def test_a_record_on_its_last_try_goes_out_alone() -> None:
    partition = delivered(4, (0, 9))
    assert partition.acquire(wish(), LIMITS, read((0, 9)), 0) == [Acquired(0, 0, 5)]
    assert partition.acquire(wish("m2"), LIMITS, read((0, 9)), 0) == [Acquired(1, 1, 5)]


def test_a_record_on_its_last_try_is_not_delivered_with_others_before_it() -> None:
    partition = delivered(4, (5, 9))
    partition.move_log_start(5)
    fresh = SharePartition(0)
    fresh.replay(-1, [StoredRange(5, 9, RecordState.AVAILABLE, 4)])
    assert fresh.acquire(wish(), LIMITS, read((0, 9)), 0) == [Acquired(0, 4, 1)]


# --- acknowledging ------------------------------------------------------------------------------------------

EVENTS = [
    (Event.GAP, 1, "archived", 1),
    (Event.ACCEPT, 1, "acknowledged", 1),
    (Event.RELEASE, 1, "available", 1),
    (Event.RELEASE, 5, "archived", 5),
    (Event.REJECT, 1, "archived", 1),
    (Event.RENEW, 5, "acquired", 5),
]


@pytest.mark.parametrize(("event", "count", "state", "count_after"), EVENTS)
def test_each_acknowledgement_has_its_outcome(event: Event, count: int, state: str, count_after: int) -> None:
    kind = next(number for number, found in ACKNOWLEDGEMENTS.items() if found is event)
    partition = delivered(count - 1, (0, 0), (1, 1))
    partition.acquire(wish(), LIMITS._replace(delivery_count_max=1_000), read((0, 0), (1, 1)), 0)
    change = say(partition, 1, 1, kind)
    (part,) = (part for part in partition.ranges if part.first <= 1 <= part.last)
    assert (part.facts.state.name.lower(), part.facts.delivery_count) == (state, count_after)
    assert (change is None) == (event is Event.RENEW)


def test_one_type_for_each_offset() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    settle(partition, say(partition, 0, 3, ACCEPT, RELEASE, RELEASE, REJECT))
    assert shown(partition) == [(1, 2, "available", 1), (3, 3, "archived", 1), (4, 9, "acquired", 1)]


@pytest.mark.parametrize(
    ("first", "last", "types"),
    [(5, 4, [1]), (-2, 4, [1]), (0, 4, []), (0, 4, [1, 1]), (0, 0, [5]), (0, 0, [-1]), (0, 0, [1, 1])],
)
def test_an_impossible_acknowledgement_is_an_invalid_request(first: int, last: int, types: list[int]) -> None:
    with pytest.raises(InvalidRequest):
        acknowledgement(first, last, types)


def test_offsets_that_were_never_delivered_are_an_invalid_request() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    with pytest.raises(InvalidRequest):
        say(partition, 5, 10, ACCEPT)
    with pytest.raises(InvalidRequest):
        say(partition, 0, 2**63 - 1, ACCEPT)


def test_ranges_that_overlap_are_an_invalid_request() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    twice = [acknowledgement(0, 5, [ACCEPT]), acknowledgement(5, 6, [ACCEPT])]
    with pytest.raises(InvalidRequest):
        partition.acknowledge("m1", twice, LIMITS, 0)


def test_only_the_member_that_has_a_record_may_acknowledge_it() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    with pytest.raises(InvalidRecordState):
        say(partition, 0, 5, ACCEPT, member_id="m2")


def test_an_acknowledgement_counts_wholly_or_not_at_all() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 4)), 0)
    partition.acquire(wish("m2"), LIMITS, read((5, 9)), 0)
    with pytest.raises(InvalidRecordState):
        say(partition, 0, 9, ACCEPT)
    assert shown(partition) == [(0, 4, "acquired", 1), (5, 9, "acquired", 1)]


def test_a_record_whose_state_is_being_stored_is_neither_delivered_nor_acknowledged() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    change = say(partition, 0, 4, RELEASE)
    with pytest.raises(InvalidRecordState):
        say(partition, 4, 4, ACCEPT)
    assert not partition.acquire(wish("m2"), LIMITS, read((0, 9)), 0)
    settle(partition, change)
    assert partition.acquire(wish("m2"), LIMITS, read((0, 9)), 0) == [Acquired(0, 4, 2)]


def test_the_start_moves_when_it_is_durable_and_what_lies_before_is_ignored() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    change = say(partition, 0, 4, ACCEPT)
    assert partition.start == 0
    settle(partition, change)
    assert partition.start == 5
    assert say(partition, 0, 4, ACCEPT) is None
    settle(partition, say(partition, 3, 9, ACCEPT))
    assert (partition.start, partition.end) == (10, 10)


def test_what_could_not_be_stored_is_taken_back() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    change = say(partition, 0, 4, ACCEPT)
    assert change is not None
    partition.undo(change)
    assert shown(partition) == [(0, 9, "acquired", 1)]
    settle(partition, say(partition, 0, 4, ACCEPT))


# --- locks and sessions -------------------------------------------------------------------------------------


def test_a_lock_runs_out_and_counts_as_a_delivery() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 100)
    assert partition.next_lock_deadline() == 1_100
    assert partition.expire(LIMITS, 1_099)[0] is None
    settle(partition, partition.expire(LIMITS, 1_100)[0])
    assert shown(partition) == [(0, 9, "available", 1)]
    assert partition.next_lock_deadline() is None


def test_a_lock_that_runs_out_for_the_last_time_archives() -> None:
    partition = delivered(4, (0, 0))
    partition.acquire(wish(), LIMITS, read((0, 0)), 0)
    settle(partition, partition.expire(LIMITS, 1_000)[0])
    assert partition.start == 1


def test_a_renewed_lock_begins_anew() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    partition.acknowledge("m1", [acknowledgement(0, 4, [RENEW])], LIMITS, 900)
    settle(partition, partition.expire(LIMITS, 1_000)[0])
    assert shown(partition) == [(0, 4, "acquired", 1), (5, 9, "available", 1)]
    assert partition.next_lock_deadline() == 1_900


def test_a_closed_session_gives_back_and_archives_at_the_limit() -> None:
    partition = delivered(4, (0, 0), (1, 1))
    partition.acquire(wish(max_records=1), LIMITS, read((0, 0), (1, 1)), 0)
    partition.acquire(wish("m2", max_records=1), LIMITS, read((0, 0), (1, 1)), 0)
    settle(partition, partition.release("m1", LIMITS, 0))
    assert shown(partition) == [(1, 1, "acquired", 5)]


def test_what_the_log_no_longer_has_is_forgotten() -> None:
    partition = delivered(1, (0, 9))
    partition.acquire(wish(max_records=5), LIMITS, read((0, 4), (5, 9)), 0)
    partition.move_log_start(7)
    assert (partition.start, shown(partition)) == (7, [(7, 9, "available", 1)])
    assert say(partition, 0, 4, ACCEPT) is None
    partition.move_log_start(50)
    assert (partition.start, partition.end) == (50, 50)


# --- what is stored -----------------------------------------------------------------------------------------


def test_a_snapshot_shows_acquired_records_as_they_were_before() -> None:
    partition = delivered(2, (0, 4))
    partition.acquire(wish(max_records=1, exact=True), LIMITS, read((0, 4)), 0)
    settle(partition, say(partition, 0, 0, REJECT))
    partition.acquire(wish(max_records=3, exact=True), LIMITS, read((1, 4)), 0)
    assert partition.stored_ranges() == [
        StoredRange(1, 3, RecordState.AVAILABLE, 2),
        StoredRange(4, 4, RecordState.AVAILABLE, 2),
    ]


def test_finished_records_after_the_start_are_counted() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 9)), 0)
    settle(partition, say(partition, 2, 5, ACCEPT))
    settle(partition, say(partition, 8, 8, REJECT))
    assert (partition.start, partition.finished_count()) == (0, 5)


def test_ranges_that_become_alike_are_joined() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), LIMITS, read((0, 999)), 0)
    for offset in [*range(1, 999, 2), *range(2, 999, 2)]:
        settle(partition, say(partition, offset, offset, ACCEPT))
    assert shown(partition) == [(0, 0, "acquired", 1), (1, 998, "acknowledged", 1), (999, 999, "acquired", 1)]


# --- dead letters -------------------------------------------------------------------------------------------

TAIL = LIMITS._replace(at_limit=AtLimit.TAIL)


def given_up(*, count: int = 4) -> SharePartition:
    """Return a share-partition of which the first records were rejected, and the last one is available."""
    partition = SharePartition(0)
    partition.acquire(wish(max_records=count), TAIL, read((0, count - 1)), 0)
    settle(partition, say(partition, 0, count - 2, REJECT, limits=TAIL))
    settle(partition, say(partition, count - 1, count - 1, RELEASE, limits=TAIL))
    return partition


def test_what_waits_for_dead_letters_keeps_the_start_and_is_not_delivered() -> None:
    partition = given_up()
    assert list(partition.archiving()) == [StoredRange(0, 2, RecordState.ARCHIVING, 1, "rejected")]
    assert (partition.start, partition.next_fetch_offset(), partition.finished_count()) == (0, 3, 0)
    assert partition.acquire(wish(), TAIL, read((0, 3)), 0) == [Acquired(3, 3, 2)]


def test_nothing_waits_before_that_is_durable() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(), TAIL, read((0, 0)), 0)
    change = say(partition, 0, 0, REJECT, limits=TAIL)
    assert list(partition.archiving()) == []
    settle(partition, change)
    assert len(list(partition.archiving())) == 1


def test_what_has_its_letters_is_archived_part_by_part() -> None:
    partition = given_up()
    change = partition.archive([(1, 1)])
    assert list(partition.archiving()) == [
        StoredRange(0, 0, RecordState.ARCHIVING, 1, "rejected"),
        StoredRange(2, 2, RecordState.ARCHIVING, 1, "rejected"),
    ]
    settle(partition, change)
    assert partition.start == 0
    settle(partition, partition.archive([(0, 0), (2, 3)]))
    assert (partition.start, shown(partition)) == (3, [(3, 3, "available", 1)])
    assert partition.archive([(0, 3)]) is None


def test_an_end_of_waiting_that_could_not_be_stored_is_taken_back() -> None:
    partition = given_up()
    before = list(partition.archiving())
    change = partition.archive([(0, 2)])
    assert change is not None
    partition.undo(change)
    assert list(partition.archiving()) == before
    assert partition.next_lock_deadline() != 0


def test_the_log_start_leaves_what_waits_and_takes_the_rest() -> None:
    partition = SharePartition(0)
    partition.acquire(wish(max_records=6), TAIL, read((0, 5)), 0)
    settle(partition, say(partition, 0, 5, RELEASE, RELEASE, REJECT, RELEASE, RELEASE, RELEASE, limits=TAIL))
    partition.move_log_start(5)
    assert shown(partition) == [
        (2, 2, "archiving", 1), (3, 4, "archived", 0), (5, 5, "available", 1),
    ]  # fmt: skip
    assert partition.next_fetch_offset() == 5
    settle(partition, partition.archive([(2, 2)]))
    assert partition.start == 5


def test_what_waits_is_stored_with_its_cause_and_replayed() -> None:
    partition = given_up()
    replayed = SharePartition(0)
    replayed.replay(0, partition.stored_ranges())
    assert list(replayed.archiving()) == list(partition.archiving())
    assert (replayed.start, shown(replayed)) == (partition.start, shown(partition))
