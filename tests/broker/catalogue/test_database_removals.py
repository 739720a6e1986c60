"""Databases that are dropped while a node is away: it removes its files of them when it is back."""

from __future__ import annotations

import errno
import logging

import pytest

from protocol.messages.kawal_databases import DatabaseAction
from tests.broker.cluster import Cluster
from tests.broker.databases import ask
from tests.broker.kit import batch, create, producing
from tests.broker.topic_requests import deleted
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_image import KEEP_ALL


@pytest.fixture
def cluster() -> Cluster:
    """Return three nodes, and the database "d" with records on each of them."""
    cluster = Cluster(3, own_directories=True)
    assert not ask(cluster[0].client(), DatabaseAction.CREATE, "d", vnodes="3").error_code
    cluster.settle()
    create(cluster[0].client(), "t", 3, **{"kawal.database": "d"})
    cluster.settle()
    found = cluster[0].broker
    for index in range(3):
        leader, _ = found.topics.leader(found.catalogue.by_name["t"], index)
        answer = cluster.call(cluster[leader].client(), producing(("t", index, batch(b"x"))), 9)
        assert not answer.responses[0].partition_responses[0].error_code
    return cluster


def files(cluster: Cluster, number: int) -> list[str]:
    """Return the files of databases other than the first one on a node's disk."""
    return [path for path in cluster[number].disk.files() if "/db-" in path]


def marks(cluster: Cluster, number: int) -> list[str]:
    """Return the marks that a node keeps of logs of such databases."""
    return [path for path in cluster[number].disk.files() if "/used-db-" in path]


def dropped(cluster: Cluster) -> list[str]:
    """Return the dropped databases that the catalogue still names."""
    return list(cluster[0].broker.catalogue.databases.dropped.values())


def drop(cluster: Cluster) -> None:
    assert deleted(cluster[0].client(), "t")["t"][0] == 0
    cluster.settle()
    assert not ask(cluster[0].client(), DatabaseAction.DROP, "d").error_code
    cluster.advance(6_000)


def test_a_node_that_was_away_removes_its_files_of_dropped_databases(cluster: Cluster) -> None:
    cluster.kill(1)
    drop(cluster)
    assert [bool(files(cluster, number)) for number in range(3)] == [False, True, False]
    assert dropped(cluster) == ["d"]
    cluster.revive(1)
    assert (files(cluster, 1), marks(cluster, 1)) == ([], [])
    cluster.advance(6_000)
    assert dropped(cluster) == []


def test_what_a_node_is_to_remove_is_known_after_the_others_have_started_again(cluster: Cluster) -> None:
    cluster.kill(1)
    drop(cluster)
    for number in (0, 2):
        cluster.kill(number)
        cluster.revive(number)
    cluster.advance(6_000)
    assert dropped(cluster) == ["d"]
    cluster.revive(1)
    cluster.advance(6_000)
    assert (files(cluster, 1), dropped(cluster)) == ([], [])


def test_a_removal_is_recorded_after_all_nodes_have_told_of_it(cluster: Cluster) -> None:
    drop(cluster)
    assert [files(cluster, number) for number in range(3)] == [[], [], []]
    assert dropped(cluster) == []
    assert [node.broker.catalogue.databases.dropped for node in cluster] == [{}, {}, {}]


def test_a_node_that_cannot_remove_its_files_is_waited_for(cluster: Cluster) -> None:
    cluster[1].disk.faults.append(failing("remove_directory", errno.EIO, path="/db-"))
    drop(cluster)
    assert dropped(cluster) == ["d"]
    cluster[1].disk.faults.clear()
    cluster.kill(1)
    cluster.revive(1)
    cluster.advance(6_000)
    assert (files(cluster, 1), dropped(cluster)) == ([], [])


def test_a_start_that_is_interrupted_anywhere_goes_on_with_the_removal(cluster: Cluster) -> None:
    """The power fails at each call of the start, until one is complete."""
    cluster.kill(1)
    drop(cluster)
    disk: MemoryDisk = cluster[1].disk
    interrupted = 0
    while True:
        left = [interrupted]

        def cut(_call: object, left: list[int] = left) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1

        disk.faults[:] = [cut]
        try:
            cluster[1].broker = cluster[1]._start()
        except KeyboardInterrupt:
            interrupted += 1
            disk.locks.clear()
            assert dropped(cluster) == ["d"]
            continue
        break
    disk.faults.clear()
    assert interrupted > 20
    cluster.down.discard(1)
    cluster.advance(6_000)
    assert (files(cluster, 1), marks(cluster, 1), dropped(cluster)) == ([], [], [])


def test_a_directory_that_no_catalogue_knows_is_left_and_named(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a node whose directory was put back from long ago."""
    directory = cluster[0].broker.catalogue.databases["d"].directory
    cluster.kill(1)
    old = cluster[1].disk.crash(KEEP_ALL)
    cluster.revive(1)
    drop(cluster)
    assert dropped(cluster) == []
    cluster.kill(1)
    cluster[1].disk = old
    with caplog.at_level(logging.ERROR):
        cluster.revive(1)
    assert f"{directory}: the catalogue knows no database there" in caplog.text
    assert files(cluster, 1)
