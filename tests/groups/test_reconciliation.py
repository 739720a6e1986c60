"""Tests of groups/reconciliation.py."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.assignment import partitions_of, plain
from groups.consumer_member import MemberAssignment
from groups.errors import FencedMemberEpoch
from groups.reconciliation import Owned, next_assignment
from groups.states import RECONCILIATION, MemberState

T = UUID(int=1)
U = UUID(int=2)


def has(*indexes: int, state: MemberState = MemberState.STABLE) -> MemberAssignment:
    """Return a member in epoch 5 that got these partitions in epoch 3."""
    assigned = {T: dict.fromkeys(indexes, 3)} if indexes else {}
    return MemberAssignment(epoch=5, previous_epoch=4, state=state, assigned=assigned)


def step(
    current: MemberAssignment,
    *indexes: int,
    epoch: int = 6,
    owned: Owned = None,
    others: Collection[int] = (),
    topics: Collection[UUID] = (T,),
) -> MemberAssignment:
    return next_assignment(
        current,
        target={T: frozenset(indexes)} if indexes else {},
        target_epoch=epoch,
        topics=topics,
        owned=owned,
        held_by_others=lambda _, indexes: indexes & set(others),
    )


def test_free_partitions_are_given_in_the_targets_epoch() -> None:
    after = step(has(0), 0, 1)
    assert after == MemberAssignment(epoch=6, previous_epoch=5, assigned={T: {0: 3, 1: 6}})


def test_what_must_go_is_asked_back_first_in_the_old_epoch() -> None:
    after = step(has(0, 1), 1, 2)
    assert (after.state, after.epoch) == (MemberState.UNREVOKED_PARTITIONS, 5)
    assert (after.assigned, after.revoking) == ({T: {1: 3}}, {T: {0: 3}})


def test_a_member_that_still_holds_it_stays_where_it_is() -> None:
    waiting = step(has(0, 1), 1, 2)
    assert step(waiting, 1, 2, owned={T: [0, 1]}) is waiting
    assert step(waiting, 1, 2) is waiting


def test_a_member_that_let_go_moves_on() -> None:
    waiting = step(has(0, 1), 1, 2)
    after = step(waiting, 1, 2, owned={T: [1]})
    assert after == MemberAssignment(epoch=6, previous_epoch=5, assigned={T: {1: 3, 2: 6}})


def test_a_member_that_holds_nothing_of_it_need_not_be_asked() -> None:
    after = step(has(0, 1), 1, owned={T: {1}})
    assert after == MemberAssignment(epoch=6, previous_epoch=5, assigned={T: {1: 3}})


def test_what_others_hold_is_waited_for_in_the_targets_epoch() -> None:
    after = step(has(0), 0, 1, 2, others={2})
    assert after.state == MemberState.UNRELEASED_PARTITIONS
    assert (after.epoch, plain(after.assigned)) == (6, {T: frozenset({0, 1})})
    later = step(after, 0, 1, 2)
    assert (later.state, plain(later.assigned)) == (MemberState.STABLE, {T: frozenset({0, 1, 2})})
    assert (later.epoch, later.previous_epoch) == (6, 5)


def test_a_target_that_changes_while_partitions_go_is_followed_afterwards() -> None:
    waiting = step(has(0, 1), 1)
    after = step(waiting, 0, 2, epoch=7, owned={T: [1]})
    assert (after.state, after.epoch) == (MemberState.UNREVOKED_PARTITIONS, 5)
    assert after.revoking == {T: {1: 3}}
    last = step(after, 0, 2, epoch=7, owned={})
    assert last == MemberAssignment(epoch=7, previous_epoch=5, assigned={T: {0: 7, 2: 7}})


def test_topics_that_are_not_wanted_go_at_once() -> None:
    after = step(has(0, 1), 0, 1, epoch=5, topics={U})
    assert (after.state, after.revoking) == (MemberState.UNREVOKED_PARTITIONS, {T: {0: 3, 1: 3}})


def test_topics_that_are_not_wanted_go_while_others_are_asked_back() -> None:
    current = MemberAssignment(
        epoch=5,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned={T: {1: 3}, U: {0: 3}},
        revoking={U: {1: 3}},
    )
    after = step(current, 1, topics={T})
    assert after.assigned == {T: {1: 3}}
    assert after.revoking == {U: {0: 3, 1: 3}}
    assert step(after, 1, topics={T}) is after


def test_a_member_in_an_unknown_state_is_fenced_unless_it_holds_nothing() -> None:
    unknown = has(0, state=MemberState.UNKNOWN)
    for owned in (None, {T: [0]}):
        with pytest.raises(FencedMemberEpoch):
            step(unknown, 0, 1, owned=owned)
    assert step(unknown, 0, 1, owned={}).state == MemberState.STABLE


@pytest.mark.parametrize(("facts", "expected"), RECONCILIATION.items())
def test_every_row_of_the_table_happens(facts: tuple[bool, bool], expected: tuple[MemberState, bool]) -> None:
    must_revoke, must_wait = facts
    state, moves = expected
    target = [1, 2] if must_revoke else [0, 1, 2]
    after = step(has(0), *target, others={2} if must_wait else set())
    assert after.state == state
    assert after.epoch == (6 if moves else 5)


indexes = st.frozensets(st.integers(0, 4))


@given(current=indexes, target=indexes, owned=st.none() | indexes, others=indexes, epoch=st.integers(5, 6))
def test_no_step_gives_what_others_hold_or_takes_what_is_not_asked_back(
    current: frozenset[int],
    target: frozenset[int],
    owned: frozenset[int] | None,
    others: frozenset[int],
    epoch: int,
) -> None:
    others -= current
    before = has(*current)
    reported = None if owned is None else {T: owned}
    after = step(before, *target, epoch=epoch, owned=reported, others=set(others))
    assigned, revoking = set(partitions_of(after.assigned)), set(partitions_of(after.revoking))
    assert not assigned & revoking
    assert not assigned & {(T, index) for index in others}
    gone = set(partitions_of(before.assigned)) - assigned - revoking
    if reported is None:
        assert not gone
    else:
        assert not gone & {(T, index) for index in reported[T]}
    assert assigned <= {(T, index) for index in target}
    assert after.epoch == before.epoch or not revoking
