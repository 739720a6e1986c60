"""Records in a row that are alike."""

from __future__ import annotations

from groups.share.record_range import Change, Facts, Range, StoredRange
from groups.share.states import RecordState

HELD = Facts(RecordState.ACQUIRED, 1, "m1", 500)


def test_a_split_keeps_facts_and_change_on_both_sides() -> None:
    part = Range(10, 19, HELD)
    part.change, part.before = Change(), HELD
    tail = part.split(15)
    assert [(found.first, found.last, len(found)) for found in (part, tail)] == [(10, 14, 5), (15, 19, 5)]
    assert (tail.facts, tail.change, tail.before) == (HELD, part.change, HELD)


def test_records_are_held_until_their_member_says_something() -> None:
    part, said = Range(10, 19, HELD), Range(20, 29, HELD)
    said.change = Change()
    assert (part.is_held, part.is_settled) == (True, True)
    assert (said.is_held, said.is_settled) == (False, False)


def test_a_member_may_have_what_is_available_of_its_class_and_not_kept_from_it() -> None:
    kept = Facts(RecordState.AVAILABLE, 1, "m1", 500, priority=2)
    assert [kept.is_free(name, now_ms) for name, now_ms in (("m1", 499), ("m1", 500), ("m2", 0))] == [
        False,
        True,
        True,
    ]
    assert not kept._replace(member_id="").is_free("m2", 499)
    assert kept.is_free("m2", 0, 2)
    assert not kept.is_free("m2", 0, 1)
    assert not HELD.is_free("m1", 900)


def test_a_change_reaches_from_its_first_range_to_its_last() -> None:
    change = Change()
    change.ranges = [
        StoredRange(4, 5, RecordState.AVAILABLE, 1),
        StoredRange(9, 12, RecordState.AVAILABLE, 1),
    ]
    assert (change.first, change.last) == (4, 12)
