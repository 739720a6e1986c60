"""Tests of groups/assignment.py."""

from __future__ import annotations

from uuid import UUID

from groups.assignment import (
    common,
    contains,
    count,
    of_topics,
    partitions_of,
    plain,
    same_partitions,
    touches,
    union,
    with_epoch,
    without,
)

T, U = UUID(int=1), UUID(int=2)
SOME = {T: {0: 3, 1: 4}, U: {2: 5}}


def test_partitions_are_listed_and_counted() -> None:
    assert list(partitions_of(SOME)) == [(T, 0), (T, 1), (U, 2)]
    assert count(SOME) == 3
    assert plain(SOME) == {T: frozenset({0, 1}), U: frozenset({2})}


def test_a_topic_without_partitions_is_left_out() -> None:
    assert common(SOME, {T: frozenset({1, 9})}) == {T: {1: 4}}
    assert without(SOME, {T: frozenset({1, 9}), U: frozenset({2})}) == {T: {0: 3}}
    assert of_topics(SOME, [U]) == {U: {2: 5}}
    assert with_epoch({T: []}, 7) == {}


def test_a_union_keeps_epochs_and_changes_neither_side() -> None:
    other = with_epoch({T: [1, 5]}, 9)
    assert union(SOME, other) == {T: {0: 3, 1: 9, 5: 9}, U: {2: 5}}
    assert SOME == {T: {0: 3, 1: 4}, U: {2: 5}}
    assert union(SOME, {}) is SOME
    assert union({}, SOME) is SOME


def test_all_and_any_of_some_partitions() -> None:
    assert contains(SOME, {T: [0], U: [2]})
    assert not contains(SOME, {T: [0], U: [0]})
    assert contains(SOME, {})
    assert touches(SOME, {T: [7], U: [2]})
    assert not touches(SOME, {T: [7]})
    assert not touches(SOME, {})


def test_partitions_are_the_same_whatever_their_epochs() -> None:
    first = {T: {1: 5, 2: 6}}
    assert same_partitions(first, first)
    assert same_partitions(first, {T: {2: 7, 1: 7}})
    assert not same_partitions(first, {T: {1: 5}})
    assert not same_partitions(first, {})
    assert not same_partitions({}, first)
