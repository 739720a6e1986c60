"""Nodes with directories of their own: each makes, opens and removes what it leads, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from broker.catalogue.members import Members
from broker.catalogue.nodes import Nodes
from broker.core import Broker
from broker.start import open_broker
from broker.storage.node_directory import OtherNode
from protocol.messages.kawal_databases import DatabaseAction
from protocol.messages.kawal_follow import KawalFollowRequest
from tests.broker.cluster import Cluster
from tests.broker.databases import ask
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, producing
from wal.errors import VnodeMissing
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL, KEEP_ALL


def vnodes(cluster: Cluster, number: int) -> set[str]:
    """Return the directories of vnodes on a node's disk."""
    paths = [path.split("/") for path in cluster[number].disk.files()]
    return {f"{path[-3]}/{path[-2]}" for path in paths if path[-2].startswith("vnode-")}


def of_database(cluster: Cluster, number: int, name: str) -> list[str]:
    directory = cluster[0].broker.catalogue.databases[name].directory
    found = [path.partition("/") for path in vnodes(cluster, number)]
    return sorted(vnode for database, _, vnode in found if database == directory)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(3, own_directories=True)


def test_a_new_cluster_has_its_first_logs_spread_over_the_nodes(cluster: Cluster) -> None:
    assert [sorted(vnodes(cluster, number)) for number in range(3)] == [
        ["default/vnode-0", "default/vnode-3"],
        ["default/vnode-1", "default/vnode-4"],
        ["default/vnode-2", "default/vnode-5"],
    ]


def test_all_nodes_are_of_one_cluster_and_each_directory_has_a_secret_of_its_own(cluster: Cluster) -> None:
    identities = [node.broker.store.identity for node in cluster]
    assert len({identity.cluster_id for identity in identities}) == 1
    assert len({identity.secret for identity in identities}) == 3
    assert [(identity.node, identity.nodes) for identity in identities] == [(0, 3), (1, 3), (2, 3)]


def test_a_database_is_made_split_and_dropped_on_all_nodes(cluster: Cluster) -> None:
    client = cluster[1].client()
    assert not ask(client, DatabaseAction.CREATE, "d", vnodes="4").error_code
    cluster.settle()
    assert [of_database(cluster, number, "d") for number in range(3)] == [
        ["vnode-0", "vnode-3"],
        ["vnode-1"],
        ["vnode-2"],
    ]
    assert not ask(client, DatabaseAction.SPLIT, "d").error_code
    cluster.settle()
    assert of_database(cluster, 1, "d") == ["vnode-1", "vnode-4"]
    directory = cluster[0].broker.catalogue.databases["d"].directory
    assert not ask(client, DatabaseAction.DROP, "d").error_code
    cluster.advance(1_000)
    for number in range(3):
        assert not [path for path in cluster[number].disk.files() if directory in path], number


def test_a_node_that_was_away_makes_what_was_made_meanwhile(cluster: Cluster) -> None:
    cluster.kill(1)
    assert not ask(cluster[0].client(), DatabaseAction.CREATE, "d", vnodes="3").error_code
    cluster.revive(1)
    assert of_database(cluster, 1, "d") == ["vnode-1"]
    create(cluster[0].client(), "t", 3, **{"kawal.database": "d"})
    cluster.settle()
    assert [write(cluster, index, "t") for index in range(3)] == [0, 0, 0]


def write(cluster: Cluster, index: int, topic: str) -> int:
    """Write a record to a partition by its leader; return its offset."""
    found = cluster[0].broker
    leader, _ = found.topics.leader(found.catalogue.by_name[topic], index)
    answer = cluster.call(cluster[leader].client(), producing((topic, index, batch(b"x"))), 9)
    item = answer.responses[0].partition_responses[0]
    assert not item.error_code
    return int(item.base_offset)


def test_records_are_there_after_every_node_was_killed(cluster: Cluster) -> None:
    create(cluster[0].client(), "t", 6)
    cluster.settle()
    for index in range(6):
        assert write(cluster, index, "t") == 0
    for number in (1, 0, 2):
        cluster.kill(number)
        cluster.revive(number)
    assert [write(cluster, index, "t") for index in range(6)] == [1] * 6


def test_a_log_that_was_here_and_is_lost_is_not_begun_anew(cluster: Cluster) -> None:
    cluster.kill(1)
    disk: Any = cluster[1].disk
    path = f"{cluster[1].broker.store.path}/default/vnode-4"
    for name in disk.list(path):
        disk.remove(f"{path}/{name}")
    disk.remove_directory(path)
    with pytest.raises(VnodeMissing, match="vnode-4: this vnode was in use, but its directory is missing"):
        cluster.revive(1)


def test_a_directory_of_one_server_is_not_taken_for_that_of_a_node_nor_the_other_way() -> None:
    alone = Gateway()
    alone.settle()
    alone.broker.store.release()
    with pytest.raises(OtherNode, match=r"a server without .*, and it would be that of node 0"):
        Cluster(3, own_directories=True, disk=alone.disk)
    cluster = Cluster(3, own_directories=True)
    cluster.kill(0)
    with pytest.raises(OtherNode, match="this is the directory of node 0 of 3 nodes"):
        Gateway(cluster[0].disk)


def test_a_client_of_any_node_may_change_the_catalogue(cluster: Cluster) -> None:
    for number in range(3):
        create(cluster[number].client(), f"t{number}", 2)
    cluster.settle()
    assert [sorted(node.broker.catalogue.by_name) for node in cluster] == [["t0", "t1", "t2"]] * 3


def start_node_1(cluster: Cluster, disk: MemoryDisk) -> Broker:
    """Start node 1 on a disk, with the catalogue that the controller has."""
    answer = cluster.ask(0, KawalFollowRequest(version=-1), 0)
    config = replace(cluster[1].config, node_id=1)
    cluster_id = cluster[0].broker.cluster_id
    nodes = Nodes(1, number=1, count=3, members=Members(1, 3, {}), cluster_id=cluster_id)
    now_ms = cluster[0].now_ms
    return open_broker(
        disk,
        config,
        random=Random(1),
        now_ms=now_ms,
        wall_ms=now_ms,
        nodes=nodes,
        records=answer.records,
    )


def test_the_first_start_of_a_node_that_is_interrupted_anywhere_can_be_made_again(cluster: Cluster) -> None:
    """The power fails at each call, with all or nothing of that call on the disk."""
    calls: list[int] = []
    counted = MemoryDisk()
    counted.faults.append(lambda _call: calls.append(1))
    start_node_1(cluster, counted)
    for number in range(len(calls)):
        for fates in (DROP_ALL, KEEP_ALL):
            disk = MemoryDisk()
            cut_after(disk, number)
            with pytest.raises(KeyboardInterrupt):
                start_node_1(cluster, disk)
            store = start_node_1(cluster, disk.crash(fates)).store
            assert (store.identity.node, store.identity.nodes) == (1, 3)
            assert store.identity.cluster_id == cluster[0].broker.cluster_id
            assert sorted(store.vnodes()) == [("default", 1), ("default", 4)]


def cut_after(disk: MemoryDisk, count: int) -> None:
    """Let the power fail after so many calls."""
    left = [count]

    def cut(_call: object) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1

    disk.faults.append(cut)
