"""Records on their way to dead letters: only those in the right state change, part by part."""

from __future__ import annotations

from groups.share.acknowledgements import acknowledgement
from groups.share.delivery import Limits
from groups.share.found import Acquired, Found
from groups.share.giving_up import archive, archiving, give_up
from groups.share.ranges import Ranges
from groups.share.record_range import Facts, StoredRange
from groups.share.share_partition import SharePartition
from groups.share.states import AtLimit, Cause, RecordState
from tests.groups.share.requests import wish

AVAILABLE, ACQUIRED, ARCHIVING = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ARCHIVING


def made() -> Ranges:
    """Return 0 to 3 available after 2 deliveries, 4 to 5 with a member, 6 to 9 waiting."""
    ranges = Ranges(0)
    ranges.append(3, Facts(AVAILABLE, 2))
    ranges.append(5, Facts(ACQUIRED, 1, "m1", 99))
    ranges.append(9, Facts(ARCHIVING, 5, cause="limit"))
    return ranges


def settled(ranges: Ranges) -> list[tuple[int, int, str]]:
    for part in ranges:
        part.change = part.before = None
    return [(part.first, part.last, part.facts.state.name) for part in ranges]


def test_only_available_records_are_given_up_with_their_count() -> None:
    ranges = made()
    change = give_up(ranges, [(1, 2), (3, 8)], Cause.EXPIRED)
    assert change is not None
    assert [(part.first, part.last, part.delivery_count, part.cause) for part in change.ranges] == [
        (1, 2, 2, "expired"), (3, 3, 2, "expired"),
    ]  # fmt: skip
    assert [(part.first, part.last) for part in archiving(ranges)] == [(6, 9)], "the others are not durable"
    settled(ranges)
    assert [(part.first, part.last) for part in archiving(ranges)] == [(1, 2), (3, 3), (6, 9)]


def test_only_what_waits_is_archived() -> None:
    ranges = made()
    change = archive(ranges, [(0, 6), (9, 20)])
    assert change is not None
    assert [(part.first, part.last, part.cause) for part in change.ranges] == [(6, 6, ""), (9, 9, "")]
    assert archive(ranges, [(6, 6)]) is None, "while it is being stored nothing else may change"
    assert settled(ranges)[2:] == [(6, 6, "ARCHIVED"), (7, 8, "ARCHIVING"), (9, 9, "ARCHIVED")]


def test_nothing_to_change_is_no_change() -> None:
    assert give_up(made(), [(4, 9)], Cause.EXPIRED) is None
    assert archive(made(), [(0, 5)]) is None
    assert archive(made(), []) is None


def test_a_record_that_is_kept_for_ever_has_the_largest_count_that_can_be_stored() -> None:
    keep = Limits(at_limit=AtLimit.KEEP)
    partition = SharePartition(0)
    partition.replay(0, [StoredRange(0, 0, AVAILABLE, 2**15 - 2)])
    for _ in range(2):
        assert partition.acquire(wish(), keep, Found(0, [(0, 0)], 1), 0) == [Acquired(0, 0, 2**15 - 1)]
        change = partition.acknowledge("m1", [acknowledgement(0, 0, [2])], keep, 0)
        assert change is not None
        partition.settle(change)
    assert partition.stored_ranges() == [StoredRange(0, 0, AVAILABLE, 2**15 - 1)]
