"""The judgement of the nodes' copies by `kawal doctor`: each state has its sentence, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from broker.config.config_keys import ConfigProblem
from console.doctor.copies import check_copies
from console.doctor.finding import Finding
from tests.console.doctor.machine import FakeFacts
from tests.console.doctor.test_storage import config, store
from tests.wal.remote.copies import Node
from tests.wal.remote.folders import Folder
from tests.wal.remote.workers import workers_over
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.objects import ObjectStore
from wal.remote.heartbeat import Heart, Places
from wal.remote.places import node_folder

WALL_SECONDS = 1_800_000_000
NODES = {"kawal_cluster_nodes": "a:9092,b:9092", "kawal_cluster_node": "0", "kawal_cluster_secret_file": "/s"}


def found(path: Path, stores: Mapping[int, ObjectStore], **settings: str) -> list[Finding]:
    own = config(path, kawal_remote_store="s3://logs/kawal", **settings)
    return list(check_copies(FakeFacts(), own, stores=lambda _config: stores, wait=lambda _seconds: None))


def copied(*, epoch: int = 1, age_seconds: int = 1) -> MemoryObjects:
    objects = MemoryObjects()
    node = Node(objects)
    node.append(b"one")
    node.round()
    told_ms = 1_000 * (WALL_SECONDS - age_seconds)
    places = Places("h:1")
    Heart(
        objects, prefix="cluster", incarnation="a", interval_ms=1_000, places=places, wall_ms=lambda: told_ms
    ).beat(epoch)
    return objects


def test_without_a_store_nodes_are_told_that_there_are_no_copies_and_one_server_nothing(
    tmp_path: Path,
) -> None:
    assert list(check_copies(FakeFacts(), config(tmp_path))) == []
    (told,) = check_copies(FakeFacts(), config(tmp_path, **NODES))
    assert (told.verdict, "no node has a copy" in told.text) == ("ok", True)


def test_a_server_that_is_alive_is_told_with_its_address(tmp_path: Path) -> None:
    (told,) = found(tmp_path, {0: copied()})
    assert (told.check, told.verdict) == ("copy", "ok")
    assert "epoch 1, served at h:1;" in told.text
    assert told.text.endswith("its last sign of life: 1.0 s ago")


def test_one_that_is_silent_may_be_replaced(tmp_path: Path) -> None:
    (told,) = found(tmp_path, {0: copied(age_seconds=90)})
    assert (told.verdict, "last served at h:1" in told.text) == ("warning", True)
    assert "'kawal standby' take its place" in told.advice


def test_one_that_was_ended_has_a_successor(tmp_path: Path) -> None:
    (told,) = found(tmp_path, {0: copied(epoch=0)})
    assert "another process has ended that server" in told.text


def test_one_that_ended_cleanly_is_well(tmp_path: Path) -> None:
    objects = copied()
    Heart(objects, prefix="cluster", incarnation="a", interval_ms=1_000, places=Places("h:1")).farewell(1)
    (told,) = found(tmp_path, {0: objects})
    assert (told.verdict, "that server ended cleanly" in told.text) == ("ok", True)


def test_each_node_has_a_finding_and_the_copy_of_another_one_is_a_problem(tmp_path: Path) -> None:
    first, second = found(tmp_path, {0: copied(), 1: MemoryObjects()}, **NODES)
    assert (first.check, first.verdict) == ("node 0", "problem")
    assert "is the copy of node 0 of 1, and not of node 0 of 2" in first.text
    assert (second.check, second.verdict, "has no copy" in second.text) == ("node 1", "warning", True)


def test_a_store_that_is_away_is_a_warning_and_one_that_cannot_be_used_told_elsewhere(tmp_path: Path) -> None:
    (told,) = found(tmp_path, {0: MemoryObjects(lambda _call: ObjectFault.AWAY)})
    assert (told.verdict, "keeps the store from answering" in told.advice) == ("warning", True)

    def no_store(_config: object) -> Mapping[int, ObjectStore]:
        raise ConfigProblem("obstore is not installed")

    own = config(tmp_path, kawal_remote_store="s3://logs/kawal")
    assert list(check_copies(FakeFacts(), own, stores=no_store)) == []


def test_the_copy_is_that_of_the_directorys_cluster(tmp_path: Path) -> None:
    store(tmp_path)
    (told,) = found(tmp_path, {0: copied()})
    assert (told.verdict, "has no copy" in told.text) == ("warning", True)


def test_each_worker_has_a_finding_and_a_copy_of_another_number_is_a_problem(tmp_path: Path) -> None:
    objects = MemoryObjects()
    for worker in workers_over(objects):
        worker.round()
    stores = {number: Folder(objects, node_folder(number)) for number in range(3)}
    told = found(tmp_path, {number: stores[number] for number in range(2)}, kawal_workers="2")
    assert [(finding.check, finding.verdict) for finding in told] == [("worker 0", "ok"), ("worker 1", "ok")]
    first, second, third = found(tmp_path, stores, kawal_workers="3")
    assert (first.check, first.verdict, third.verdict) == ("worker 0", "problem", "warning")
    assert "memory is the copy of worker 0 of 2, and not of worker 0 of 3" in first.text
    assert "memory/node-1 is the copy of worker 1 of 2" in second.text
