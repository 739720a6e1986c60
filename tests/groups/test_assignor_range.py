"""Tests of groups/assignor_range.py."""

from __future__ import annotations

from hypothesis import given

from groups.assignors import assign
from groups.subscriber import Subscriber
from tests.groups.subscriptions import TOPICS, Case, again, cases, plain_members


@given(cases())
def test_a_members_partitions_of_a_topic_are_neighbours(case: Case) -> None:
    members, counts = case
    for assigned in assign("range", members, counts).values():
        for indexes in assigned.values():
            assert max(indexes) - min(indexes) == len(indexes) - 1


@given(cases(equal=True))
def test_topics_of_equal_size_are_divided_alike(case: Case) -> None:
    members, counts = case
    counts = dict.fromkeys(counts, 6)
    for assigned in assign("range", members, counts).values():
        assert len(set(assigned.values())) <= 1


def test_a_newcomer_stands_behind_those_who_have_something() -> None:
    settled = again(plain_members("x", "y"), assign("range", plain_members("x", "y"), {TOPICS[0]: 4}))
    found = assign("range", [*settled, *plain_members("a")], {TOPICS[0]: 4})
    assert found == {
        "x": {TOPICS[0]: frozenset({0, 1})},
        "y": {TOPICS[0]: frozenset({2})},
        "a": {TOPICS[0]: frozenset({3})},
    }


def test_static_members_stand_by_their_instance_ids() -> None:
    members = [
        Subscriber(member_id="random-1", topics=frozenset(TOPICS[:1]), instance_id="b"),
        Subscriber(member_id="random-2", topics=frozenset(TOPICS[:1]), instance_id="a"),
    ]
    found = assign("range", members, {TOPICS[0]: 2})
    assert found["random-2"] == {TOPICS[0]: frozenset({0})}
