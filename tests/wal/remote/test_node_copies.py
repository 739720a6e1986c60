"""The copy of a node as its store has it: what is there, what is not, and what cannot be read."""

from __future__ import annotations

from tests.wal.remote.copies import Node
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.remote.heartbeat import Heart, Places
from wal.remote.node_copies import read_copy


def copied() -> MemoryObjects:
    """Return a store with the copy of a server that has given a sign."""
    objects = MemoryObjects()
    node = Node(objects)
    node.append(b"one")
    node.round()
    places = Places("h:1", listeners={"PLAINTEXT": "h:9"})
    Heart(
        objects, prefix="cluster", incarnation="a", interval_ms=1_000, places=places, wall_ms=lambda: 7
    ).beat(1)
    return objects


def test_cut_and_sign_of_the_one_copy_are_read() -> None:
    found = read_copy(copied(), 1)
    assert (found.number, found.cluster_id, found.problem) == (1, "cluster", "")
    assert found.cut is not None
    assert found.sign is not None
    assert (found.cut.epoch, found.sign.listeners, found.sign.time_ms) == (1, {"PLAINTEXT": "h:9"}, 7)


def test_an_empty_place_and_another_cluster_have_no_copy() -> None:
    assert read_copy(MemoryObjects(), 0).cut is None
    other = read_copy(copied(), 0, "other")
    assert (other.cut, other.problem) == (None, "")


def test_copies_of_several_clusters_are_named_unless_one_is_asked_for() -> None:
    objects = copied()
    objects.create("more/cut", b"x")
    assert read_copy(objects, 0).problem == "copies of 2 clusters are there: cluster, more"
    assert read_copy(objects, 0, "cluster").cut is not None


def test_a_damaged_cut_is_named() -> None:
    objects = MemoryObjects()
    objects.create("c/cut", b"{}")
    found = read_copy(objects, 0, "c")
    assert (found.is_away, "/c/cut: not an object of this kind" in found.problem) == (False, True)


def test_a_store_that_does_not_answer_is_away() -> None:
    found = read_copy(MemoryObjects(lambda _call: ObjectFault.AWAY), 0, "c")
    assert found.is_away
    assert found.problem
