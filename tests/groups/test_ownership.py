"""Tests of groups/ownership.py: a table made apart is the one that changes on the spot would make."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.consumer_member import MemberAssignment
from groups.ownership import Owners, check_sole_owner, disown, held_by_others, own, owners_after

T, U = UUID(int=1), UUID(int=2)
indexes = st.dictionaries(st.integers(0, 3), st.just(1), min_size=1)
assignments = st.builds(
    MemberAssignment,
    assigned=st.dictionaries(st.sampled_from([T, U]), indexes),
    revoking=st.dictionaries(st.sampled_from([T, U]), indexes),
)


def has(**topics: list[int]) -> MemberAssignment:
    known = {"t": T, "u": U}
    return MemberAssignment(assigned={known[name]: dict.fromkeys(found, 1) for name, found in topics.items()})


def copied(owners: Owners) -> Owners:
    return {topic_id: dict(found) for topic_id, found in owners.items()}


@given(assignments, assignments, assignments)
def test_a_table_made_apart_is_that_of_changes_on_the_spot_and_leaves_the_old_one(
    other: MemberAssignment, old: MemberAssignment, new: MemberAssignment
) -> None:
    owners: Owners = {}
    own(owners, "b", other)
    own(owners, "a", old)
    before = copied(owners)
    made = owners_after(owners, "a", old, new)
    assert owners == before
    disown(owners, "a", old, new)
    own(owners, "a", new)
    assert made == owners


@given(assignments, assignments)
def test_a_member_that_leaves_holds_nothing_and_others_hold_what_they_held(
    other: MemberAssignment, old: MemberAssignment
) -> None:
    owners: Owners = {}
    own(owners, "b", other)
    own(owners, "a", old)
    left = {
        topic_id: {index: name for index, name in found.items() if name != "a"}
        for topic_id, found in owners.items()
    }
    disown(owners, "a", old, None)
    assert owners == {topic_id: found for topic_id, found in left.items() if found}


def test_what_others_hold_is_found() -> None:
    owners: Owners = {}
    own(owners, "a", has(t=[0, 1]))
    own(owners, "b", has(t=[2]))
    assert held_by_others(owners, "b", T, {0, 2, 3}) == {0}
    assert held_by_others(owners, "b", U, {0}) == set()


def test_nobody_gets_what_another_has() -> None:
    owners: Owners = {}
    own(owners, "a", has(t=[0]))
    with pytest.raises(AssertionError, match="which other members have, given to 'b'"):
        check_sole_owner(owners, "b", has(), has(t=[0]))
    check_sole_owner(owners, "a", has(t=[0]), has(t=[0, 1]))


class Costly(UUID):
    """An id that counts how often it is looked up."""

    looked_up = 0

    def __hash__(self) -> int:
        Costly.looked_up += 1
        return super().__hash__()


def test_the_topics_of_a_member_that_leaves_with_most_of_them_are_not_looked_up_one_by_one() -> None:
    """Bug: with 19,000 topics that was a turn of 40 ms."""
    topics: dict[UUID, dict[int, int]] = {Costly(int=number): {0: 1, 1: 1} for number in range(1_000)}
    other: dict[UUID, dict[int, int]] = {U: {0: 1}, **{topic_id: {2: 1} for topic_id in [*topics][:10]}}
    owners: Owners = {}
    own(owners, "b", MemberAssignment(assigned=other))
    own(owners, "a", old := MemberAssignment(assigned=topics))
    Costly.looked_up = 0
    disown(owners, "a", old, None)
    assert Costly.looked_up <= 20
    assert owners == {topic_id: dict.fromkeys(indexes, "b") for topic_id, indexes in other.items()}
