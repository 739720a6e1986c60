"""Tests of groups/levelling.py; what it promises of assignments is in test_assignor_uniform.py."""

from __future__ import annotations

from groups.levelling import Shares, level
from tests.groups.subscriptions import TOPICS

A, B, C = TOPICS[:3]


def shares_of(**counts: dict[object, int]) -> Shares:
    """Return members with the first partitions of topics: `a={A: 3}`."""
    shares = Shares(counts)
    for member_id, topics in counts.items():
        for topic_id, count in topics.items():
            for index in range(count):
                shares.give(member_id, topic_id, index)  # type: ignore[arg-type]
    return shares


def test_a_moved_partition_is_counted_on_both_sides() -> None:
    shares = shares_of(a={A: 3}, b={})
    shares.move("a", "b", A, 2)
    assert shares.owned == {"a": {A: [0]}, "b": {A: [1, 2]}}
    assert shares.size == {"a": 1, "b": 2}
    shares.move("a", "b", A)
    assert shares.owned["a"] == {}


def test_the_work_grows_with_what_is_moved_not_with_its_square() -> None:
    """20,000 partitions took 66 s: each move looked at all of them."""
    shares = shares_of(a={A: 20_000}, b={B: 1})
    level(shares, {A: ["a", "b"], B: ["b"]}, steps_max=10_020)
    assert shares.size == {"a": 10_001, "b": 10_000}


def test_a_chain_moves_many_at_once() -> None:
    shares = shares_of(a={A: 3_000}, b={B: 1_500}, c={})
    level(shares, {A: ["a", "b"], B: ["b", "c"]}, steps_max=6_000)
    assert sorted(shares.size.values()) == [1_500, 1_500, 1_500]


def test_the_work_ends_at_its_limit_and_nothing_is_lost() -> None:
    shares = shares_of(a={A: 100}, b={B: 100}, c={C: 1})
    level(shares, {A: ["a", "b"], B: ["b", "c"], C: ["c"]}, steps_max=1)
    assert sum(shares.size.values()) == 201
    places = [(topic, index) for owned in shares.owned.values() for topic in owned for index in owned[topic]]
    assert len(set(places)) == 201


def test_members_that_are_level_keep_everything() -> None:
    shares = shares_of(a={A: 2}, b={A: 1, B: 1})
    before = {name: dict(owned) for name, owned in shares.owned.items()}
    level(shares, {A: ["a", "b"], B: ["b"]})
    assert shares.owned == before
