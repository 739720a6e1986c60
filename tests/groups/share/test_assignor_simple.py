"""Tests of groups/share/assignor_simple.py."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from hypothesis import given

from groups.share.assignor_simple import assign_shared
from groups.subscriber import Subscriber
from tests.groups.subscriptions import TOPICS, Case, cases, plain_members

TOPIC = TOPICS[0]


def shared(members: list[Subscriber], count: int) -> dict[str, set[int]]:
    found = assign_shared(members, {TOPIC: count})
    return {member_id: topics.get(TOPIC, set()) for member_id, topics in found.items()}


def had(member_id: str, *indexes: int) -> Subscriber:
    return Subscriber(
        member_id=member_id, topics=frozenset({TOPIC}), had={TOPIC: frozenset(indexes)} if indexes else {}
    )


@given(cases())
def test_every_partition_has_a_member_and_every_member_a_partition_evenly(case: Case) -> None:
    members, counts = case
    found = assign_shared(members, counts)
    for topic_id, count in counts.items():
        subscribers = [member.member_id for member in members if topic_id in member.topics]
        if not subscribers or not count:
            continue
        taken = Counter(index for name in subscribers for index in found[name].get(topic_id, ()))
        owners = {index: taken[index] for index in range(count)}
        assert owners.keys() >= taken.keys()
        given_each = [len(found[name].get(topic_id, ())) for name in subscribers]
        assert sum(given_each) == max(len(subscribers), count)
        assert max(owners.values()) - min(owners.values()) <= 1
        assert max(given_each) - min(given_each) <= 1
        assert min(*owners.values(), *given_each) >= 1


@given(cases())
def test_what_is_even_already_stays(case: Case) -> None:
    members, counts = case
    first = assign_shared(members, counts)
    again = [
        Subscriber(
            member_id=member.member_id,
            topics=member.topics,
            had={topic_id: frozenset(indexes) for topic_id, indexes in first[member.member_id].items()},
        )
        for member in members
    ]
    assert assign_shared(again, counts) == first


def test_members_share_partitions_when_there_are_more_of_them() -> None:
    found = shared(plain_members("a", "b", "c", "d", "e"), 2)
    assert sorted(Counter(index for indexes in found.values() for index in indexes).values()) == [2, 3]


def test_a_newcomer_takes_only_what_it_is_due() -> None:
    found = shared([had("a", 0, 1), had("b", 2, 3), had("c")], 4)
    assert found["c"]
    assert found["a"] <= {0, 1}
    assert found["b"] <= {2, 3}


def test_partitions_that_no_longer_exist_are_dropped() -> None:
    assert shared([had("a", 0, 1, 7)], 2) == {"a": {0, 1}}


def test_topics_without_subscribers_are_left_out() -> None:
    assert assign_shared(plain_members("a"), {UUID(int=99): 3}) == {"a": {}}
