"""Tests of groups/assignor_tdengine.py."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given

from groups.assignors import assign
from groups.subscriber import Subscriber
from tests.groups.subscriptions import TOPICS, Case, cases, moved, plain_members


@given(cases())
def test_each_topic_is_divided_evenly_for_itself(case: Case) -> None:
    members, counts = case
    found = assign("tdengine", members, counts)
    for topic_id, count in counts.items():
        subscribed = [member for member in members if topic_id in member.topics]
        if not subscribed:
            continue
        shares = [len(found[member.member_id].get(topic_id, ())) for member in subscribed]
        least, one_more = divmod(count, len(subscribed))
        assert sorted(shares, reverse=True) == [least + 1] * one_more + [least] * (len(shares) - one_more)


@given(cases(equal=True))
def test_no_more_partitions_move_than_must(case: Case) -> None:
    members, counts = case
    found = assign("tdengine", members, counts)
    for topic_id in members[0].topics & set(counts):
        least, one_more = divmod(counts[topic_id], len(members))
        must = 0
        for member in sorted(members, key=lambda member: -_held(member, topic_id, counts[topic_id])):
            held = _held(member, topic_id, counts[topic_id])
            allowed = least + (one_more > 0 and held > least)
            one_more -= held > least and one_more > 0
            must += max(held - allowed, 0)
        lost = sum(
            sum(
                index < counts[topic_id] and index not in found[member.member_id].get(topic_id, ())
                for index in member.had.get(topic_id, ())
            )
            for member in members
        )
        assert lost == must


def _held(member: Subscriber, topic_id: UUID, count: int) -> int:
    return sum(index < count for index in member.had.get(topic_id, ()))


def test_two_topics_do_not_give_their_one_more_to_the_same_member() -> None:
    found = assign("tdengine", plain_members("a", "b", topics=TOPICS[:2]), dict.fromkeys(TOPICS[:2], 3))
    assert sorted(sum(map(len, assigned.values())) for assigned in found.values()) == [3, 3]


def test_the_first_members_with_too_many_keep_one_more() -> None:
    had = {TOPICS[0]: frozenset({0, 1, 2, 3})}
    members = [
        Subscriber(member_id="a", topics=frozenset(TOPICS[:1]), had=had),
        *plain_members("b", "c"),
    ]
    found = assign("tdengine", members, {TOPICS[0]: 4})
    assert found["a"] == {TOPICS[0]: frozenset({0, 1})}
    assert moved(members, found) == 2


def test_partitions_that_are_gone_are_forgotten() -> None:
    had = {TOPICS[0]: frozenset({0, 7}), TOPICS[1]: frozenset({0})}
    member = Subscriber(member_id="a", topics=frozenset(TOPICS[:2]), had=had)
    assert assign("tdengine", [member], {TOPICS[0]: 2}) == {"a": {TOPICS[0]: frozenset({0, 1})}}
