"""Streams of deleted topics on other nodes: remembered until every node has dropped them."""

from __future__ import annotations

from broker.catalogue.deleted_elsewhere import DeletedElsewhere
from broker.catalogue.members import Members
from broker.catalogue.nodes import Nodes


def test_a_node_alone_remembers_nothing() -> None:
    known = {1, 2, 3}
    DeletedElsewhere(Nodes(0), known).add(9, [1, 2])
    assert known == {3}


def test_a_follower_leaves_them_to_the_controller() -> None:
    known = {1, 2, 3}
    DeletedElsewhere(Nodes(1, number=1, count=2), known).add(9, [1, 2])
    assert known == {3}


def test_the_controller_forgets_them_when_the_last_node_has_dropped_them() -> None:
    known = {1, 2, 3}
    streams = DeletedElsewhere(Nodes(0, count=3), known)
    streams.add(5, [1])
    streams.add(8, [2, 3])
    streams.done(1, 9)
    assert known == {1, 2, 3}, "the other one has not said anything"
    streams.done(2, 7)
    assert known == {2, 3}
    streams.done(2, 8)
    assert known == set()


def test_a_node_that_has_started_again_counts_anew() -> None:
    known = {1}
    streams = DeletedElsewhere(Nodes(0, count=2), known)
    streams.done(1, 9)
    streams.done(1, -1)
    streams.add(9, [1])
    streams.done(1, -1)
    assert known == {1}
    streams.done(1, 9)
    assert known == set()


def test_a_removal_is_told_of_at_once_where_no_other_node_has_a_directory() -> None:
    told: list[str] = []
    DeletedElsewhere(Nodes(0), set()).when_directories_are_gone(9, lambda: told.append("alone"))
    DeletedElsewhere(Nodes(0, count=2), set()).when_directories_are_gone(9, lambda: told.append("workers"))
    assert told == ["alone", "workers"]


def test_a_removal_is_told_of_when_the_last_node_has_removed_its_own_directory() -> None:
    told: list[str] = []
    waiting = DeletedElsewhere(Nodes(0, count=3, members=Members(0, 3, {})), set())
    waiting.when_directories_are_gone(9, lambda: told.append("d"))
    waiting.done(1, 9)
    waiting.done(2, 8)
    assert told == []
    waiting.done(2, 9)
    assert told == ["d"]
