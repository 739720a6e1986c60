"""Offsets of open transactions."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from groups.effects import Stamp
from groups.record_keys import OffsetKey
from groups.staged_offsets import StagedOffsets

KEY, OTHER = OffsetKey("g", "t", 0), OffsetKey("h", "t", 1)


def end(staged: StagedOffsets, partition: int, producer_id: int, *, commit: bool) -> list[Any]:
    """End a transaction, durably at once, and return the offsets that count."""
    closed = staged.close(partition, producer_id, commit=commit)
    staged.ended(closed)
    return closed.counting


def test_an_end_gives_the_offsets_of_its_producer_in_its_partition() -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(1, 0), KEY, b"a")
    staged.stage(1, Stamp(1, 0), OTHER, b"b")
    assert end(staged, 0, 2, commit=True) == []
    assert end(staged, 0, 1, commit=True) == [(KEY, b"a")]
    assert end(staged, 1, 1, commit=False) == []
    assert not staged


def test_what_was_staged_last_counts() -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(1, 0), KEY, b"old")
    staged.stage(0, Stamp(2, 0), KEY, b"new")
    assert end(staged, 0, 2, commit=True) == [(KEY, b"new")]
    assert end(staged, 0, 1, commit=True) == []
    staged.stage(0, Stamp(1, 0), KEY, b"old")
    staged.stage(0, Stamp(2, 0), KEY, b"new")
    staged.stage(0, Stamp(1, 0), KEY, b"newest")
    assert end(staged, 0, 2, commit=True) == [(KEY, b"new")]
    assert end(staged, 0, 1, commit=True) == [(KEY, b"newest")]


def test_a_later_commit_supersedes_and_keys_are_found_by_group_and_topic() -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(1, 0), KEY, b"a")
    staged.stage(0, Stamp(2, 0), OTHER, b"b")
    assert staged.keys(group_id="g") == [KEY]
    assert staged.keys(topic="t") == [KEY, OTHER]
    assert (staged.holds("g"), staged.holds("x"), staged.is_staged(OTHER)) == (True, False, True)
    staged.supersede(KEY)
    assert staged.keys() == [OTHER]
    staged.drop_partition(0)
    assert not staged


def test_keys_are_found_without_a_look_at_those_of_other_groups_and_topics() -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(1, 0), KEY, b"a")
    staged.stage(0, Stamp(2, 0), OTHER, b"b")
    closed = staged.close(0, 1, commit=True)
    # With all keys away only an index knows.
    ending, by_key = staged._ending, staged._by_key
    staged._ending, staged._by_key = type(ending)(), {}
    assert (staged.keys(group_id="g"), staged.keys(topic="t")) == ([KEY], [KEY, OTHER])
    assert (staged.holds("h"), staged.holds("x")) == (True, False)
    staged._ending, staged._by_key = ending, by_key
    staged.ended(closed)
    assert (staged.holds("g"), staged.keys(topic="t")) == (False, [OTHER])


@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from([KEY, OTHER]), st.binary(max_size=2)), max_size=12)
)
def test_undoing_newest_first_leaves_what_was_there(steps: list[tuple[int, OffsetKey, bytes]]) -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(9, 0), KEY, b"before")
    undo = [staged.stage(0, Stamp(producer, 0), key, value) for producer, key, value in steps]
    for step in reversed(undo):
        step()
    assert list(staged.of_partition(0, 10)) == [(Stamp(9, 0), [(KEY, b"before")])]
    assert staged.keys() == [KEY]
    assert end(staged, 0, 9, commit=True) == [(KEY, b"before")]


def test_what_is_staged_after_a_marker_is_of_the_next_transaction() -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(1, 0), KEY, b"first")
    first = staged.close(0, 1, commit=True)
    undo = staged.stage(0, Stamp(1, 1), KEY, b"second")
    second = staged.close(0, 1, commit=False)
    assert (first.counting, second.counting) == ([(KEY, b"first")], [])
    staged.ended(first)
    assert staged.is_staged(KEY)
    second.undo()
    staged.ended(second)
    assert list(staged.of_partition(0, 10)) == [(Stamp(1, 1), [(KEY, b"second")])]
    undo()
    assert not staged


def test_a_marker_that_is_not_stored_leaves_the_transaction_and_older_ones_open() -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(1, 0), KEY, b"old")
    staged.stage(0, Stamp(2, 0), KEY, b"new")
    closed = staged.close(0, 2, commit=True)
    assert list(staged.of_partition(0, 10)) == []
    closed.undo()
    staged.ended(closed)
    assert end(staged, 0, 1, commit=True) == [(KEY, b"old")]
    assert end(staged, 0, 2, commit=True) == [(KEY, b"new")]
    assert not staged


def test_a_superseded_offset_is_there_again_if_the_later_one_is_not_stored() -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(1, 0), KEY, b"a")
    undo = staged.supersede(KEY)
    later = staged.stage(0, Stamp(1, 0), KEY, b"b")
    later()
    for step in undo:
        step()
    assert end(staged, 0, 1, commit=True) == [(KEY, b"a")]


def test_a_copy_keeps_the_order_of_transactions_and_leaves_out_what_has_ended_meanwhile() -> None:
    staged = StagedOffsets()
    staged.stage(0, Stamp(1, 0), OTHER, b"1")
    staged.stage(0, Stamp(2, 0), KEY, b"2")
    staged.stage(0, Stamp(2, 0), OTHER, b"2")
    staged.stage(0, Stamp(1, 0), KEY, b"1")
    parts = [(stamp.producer_id, part) for stamp, part in staged.of_partition(0, 1)]
    assert parts == [(1, [(OTHER, b"1")]), (2, [(KEY, b"2")]), (2, [(OTHER, b"2")]), (1, [(KEY, b"1")])]
    copy = staged.of_partition(0, 1)
    next(copy)
    end(staged, 0, 2, commit=False)
    assert [stamp.producer_id for stamp, _ in copy] == [1]
