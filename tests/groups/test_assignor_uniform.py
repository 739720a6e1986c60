"""Tests of groups/assignor_uniform.py."""

from __future__ import annotations

from hypothesis import given

from groups.assignors import assign
from groups.subscriber import Subscriber
from tests.groups.subscriptions import TOPICS, Case, again, cases, check_complete, plain_members, sizes


@given(cases(equal=True))
def test_members_with_equal_wishes_differ_by_one_at_most(case: Case) -> None:
    members, counts = case
    shares = sizes(assign("uniform", members, counts))
    assert shares[0] - shares[-1] <= 1


@given(cases())
def test_no_partition_could_go_to_a_member_that_has_two_less(case: Case) -> None:
    members, counts = case
    found = assign("uniform", members, counts)
    size = {name: sum(map(len, assigned.values())) for name, assigned in found.items()}
    for member in members:
        for topic_id in found[member.member_id]:
            for other in members:
                if topic_id in other.topics:
                    assert size[member.member_id] - size[other.member_id] <= 1


def test_a_chain_of_moves_levels_members_that_share_no_topic() -> None:
    """Only b shares topics with both others: what c lacks comes from a through b."""
    a, b, c = TOPICS[:3]
    members = [
        Subscriber(member_id="a", topics=frozenset([a])),
        Subscriber(member_id="b", topics=frozenset([a, b]), had={b: frozenset(range(4))}),
        Subscriber(member_id="c", topics=frozenset([b])),
    ]
    counts = {a: 6, b: 4, c: 9}
    found = assign("uniform", members, counts)
    check_complete(members, counts, found)
    assert sizes(found) == [4, 3, 3]


def test_scarce_topics_are_handed_out_first() -> None:
    a, b = TOPICS[:2]
    members = [
        Subscriber(member_id="a", topics=frozenset([a, b])),
        Subscriber(member_id="b", topics=frozenset([b])),
    ]
    found = assign("uniform", members, {a: 2, b: 2})
    assert found == {"a": {a: frozenset({0, 1})}, "b": {b: frozenset({0, 1})}}


def test_totals_count_over_all_topics() -> None:
    members = plain_members("a", "b", "c", topics=TOPICS[:4])
    assert sizes(assign("uniform", members, dict.fromkeys(TOPICS[:4], 1))) == [2, 1, 1]


def test_a_member_that_has_its_share_keeps_it() -> None:
    members = plain_members("a", "b", topics=TOPICS[:2])
    counts = dict.fromkeys(TOPICS[:2], 3)
    found = assign("uniform", members, counts)
    assert assign("uniform", again(members, found), counts) == found
