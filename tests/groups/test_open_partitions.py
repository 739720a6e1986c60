"""Assignors over topics with withheld partitions."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import pytest

from groups.assignors import ASSIGNORS, assign
from groups.open_partitions import assign_open
from groups.share.assignor_simple import assign_shared
from groups.subscriber import Subscriber

TOPIC, OTHER = UUID(int=1), UUID(int=2)


def members(*names: str, **had: frozenset[int]) -> list[Subscriber]:
    return [
        Subscriber(
            member_id=name,
            topics=frozenset({TOPIC, OTHER}),
            had={TOPIC: had[name]} if name in had else {},
        )
        for name in names
    ]


@pytest.mark.parametrize("name", ASSIGNORS)
def test_partitions_that_are_withheld_go_to_no_member_and_all_others_to_one(name: str) -> None:
    found = assign_open(
        partial(assign, name), members("a", "b"), {TOPIC: 5, OTHER: 2}, {TOPIC: frozenset({1, 3})}
    )
    given = sorted(index for topics in found.values() for index in topics.get(TOPIC, ()))
    assert given == [0, 2, 4]
    assert sorted(index for topics in found.values() for index in topics.get(OTHER, ())) == [0, 1]


@pytest.mark.parametrize("name", ["uniform", "tdengine"])
def test_members_keep_what_they_had_when_a_partition_before_it_is_withheld(name: str) -> None:
    found = assign_open(
        partial(assign, name),
        members("a", "b", a=frozenset({2}), b=frozenset({4})),
        {TOPIC: 5},
        {TOPIC: frozenset({0, 1, 3})},
    )
    assert {member: topics[TOPIC] for member, topics in found.items()} == {"a": {2}, "b": {4}}


def test_members_of_share_groups_share_what_is_open() -> None:
    found = assign_open(assign_shared, members("a", "b"), {TOPIC: 3}, {TOPIC: frozenset({0, 1})})
    assert [topics[TOPIC] for topics in found.values()] == [{2}, {2}]
