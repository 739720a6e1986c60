"""Tests of groups/subscriber.py: members as assignors see them."""

from __future__ import annotations

from uuid import UUID

from groups.subscriber import Subscriber, still_held, subscribers_of

ONE, TWO, GONE = UUID(int=1), UUID(int=2), UUID(int=3)


def test_topics_come_in_the_order_of_their_ids_with_those_that_want_them() -> None:
    both = Subscriber(member_id="both", topics=frozenset({TWO, ONE}))
    two = Subscriber(member_id="two", topics=frozenset({TWO}))
    assert list(subscribers_of([two, both], {ONE: 4, TWO: 1})) == [(ONE, [both]), (TWO, [two, both])]


def test_topics_that_do_not_exist_have_no_subscribers() -> None:
    member = Subscriber(member_id="a", topics=frozenset({GONE}))
    assert list(subscribers_of([member], {ONE: 4})) == []


def test_only_partitions_that_still_exist_are_still_held() -> None:
    member = Subscriber(member_id="a", topics=frozenset({ONE}), had={ONE: frozenset({3, 0, 2})})
    assert still_held(member, ONE, 3) == [0, 2]
    assert still_held(member, TWO, 3) == []


def test_who_is_new_had_nothing() -> None:
    assert Subscriber(member_id="a", topics=frozenset()).had == {}
