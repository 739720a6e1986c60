"""The copies of workers become one directory, each of another moment: it starts with any number of them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from broker.catalogue.nodes import Nodes
from broker.start import open_broker, vnodes_of
from broker.upkeep.remote_copy import CopyState, RemoteCopy
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.cluster import Cluster
from tests.broker.databases import create_database
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, outcomes, producing, read
from tests.broker.upkeep.copies import copy_of
from tests.wal.remote.folders import Folder
from wal.errors import OtherWorkers
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects
from wal.remote.places import node_folder
from wal.remote.restore import RemoteRestore
from wal.remote_record import RemoteRecord, write_record
from wal.store import Store
from wal.store_marker import MARKER, raise_format, read_marker

PARTITIONS = 6


class Copied:
    """Workers whose rounds of copying are made by the test."""

    def __init__(self, count: int = 2) -> None:
        self.cluster = Cluster(count)
        self.objects = MemoryObjects()
        self.copies: list[RemoteCopy] = [
            copy_of(node, Folder(self.objects, node_folder(node.number)), incarnation=f"worker-{node.number}")
            for node in self.cluster
        ]

    def copy(self, *numbers: int) -> None:
        """Have these workers make a round now."""
        for number in numbers:
            self.copies[number].try_now()
            assert self.copies[number].counts.state is CopyState.COPYING
            assert not self.copies[number].counts.segments_missing

    def make(self, name: str, **configs: str) -> None:
        """Make a topic, and write to each partition."""
        create(self.cluster[0].client(), name, PARTITIONS, **configs)
        self.cluster.settle()
        write(self.cluster, name)

    def restored(self) -> MemoryDisk:
        """Return a disk with the directory made from all copies."""
        disk = MemoryDisk()
        restore = RemoteRestore(
            Folder(self.objects, ""),
            disk,
            cluster_id=self.cluster[0].broker.cluster_id,
            data="/data",
            place_of=lambda number: Folder(self.objects, node_folder(number)),
            vnodes_of=vnodes_of,
        )
        for _ in restore.run():
            pass
        return disk


def leader_of(servers: Cluster, name: str, index: int) -> int:
    broker = servers[0].broker
    return broker.topics.leader(broker.find_topic(name), index)[0]


def write(servers: Cluster, name: str) -> None:
    """Write a record to each partition, which is acknowledged."""
    for index in range(PARTITIONS):
        client = servers[leader_of(servers, name, index)].client()
        answer = servers.call(client, producing((name, index, batch(b"%d" % index))), 9)
        assert [outcome.error_code for outcome in outcomes(answer)] == [0]


def found_in(servers: Cluster, name: str) -> list[list[bytes]]:
    """Return the values of each partition, by offset from 0 on."""
    return [
        read(servers[leader_of(servers, name, index)].client(), name, 0, index) for index in range(PARTITIONS)
    ]


def begun(disk: MemoryDisk, count: int) -> Cluster:
    """Return so many workers on a copy of a restored directory."""
    return Cluster(count, disk=disk.crash(DROP_ALL))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_restored_directory_is_served_by_any_number_of_workers(count: int) -> None:
    copied = Copied()
    copied.make("t")
    copied.copy(0, 1)
    servers = begun(copied.restored(), count)
    assert found_in(servers, "t") == [[b"%d" % index] for index in range(PARTITIONS)]
    write(servers, "t")
    assert found_in(servers, "t") == [[b"%d" % index] * 2 for index in range(PARTITIONS)]
    assert not [orphan for node in servers for orphan in node.broker.topics.orphans]


def test_a_server_with_another_number_of_workers_serves_and_leaves_the_copy_as_it_is() -> None:
    copied = Copied()
    copied.make("t")
    copied.copy(0, 1)
    alone = begun(copied.cluster.disk, 1)
    before = dict(copied.objects.objects)
    copy = copy_of(alone[0], Folder(copied.objects, ""), incarnation="alone")
    assert not copy.try_now()
    assert copy.counts.state is CopyState.STOPPED
    assert "is a copy by 2 workers, and this server has 1 worker" in copy.counts.problem
    alone.advance(100_000)
    assert copied.objects.objects == before
    assert all(found_in(alone, "t"))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_database_that_is_younger_than_one_of_the_copies_has_its_other_logs(count: int) -> None:
    copied = Copied()
    copied.make("t")
    copied.copy(0, 1)
    create_database(copied.cluster[0].client(), "young", VGROUPS="4")
    copied.make("y", kawal_database="young")
    copied.copy(0)
    servers = begun(copied.restored(), count)
    found = found_in(servers, "y")
    assert [values for values in found if values], "what worker 0 has"
    assert [values for values in found if not values], "what worker 1 had not copied yet"
    write(servers, "y")
    assert all(found_in(servers, "y"))
    assert all(found_in(servers, "t"))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_topics_that_are_younger_than_the_catalogues_copy_give_their_records_to_no_other(count: int) -> None:
    copied = Copied()
    copied.make("t")
    copied.copy(0, 1)
    copied.make("young")
    copied.copy(1)
    servers = begun(copied.restored(), count)
    create(servers[0].client(), "new", PARTITIONS)
    servers.settle()
    assert found_in(servers, "new") == [[]] * PARTITIONS
    orphans = [orphan for node in servers for orphan in node.broker.topics.orphans]
    assert sum(orphan.offsets[1] for orphan in orphans) == PARTITIONS // 2, "they stay, to be adopted"


def test_the_controller_gives_out_no_stream_that_another_worker_has_yet_to_tell() -> None:
    """Worker 0 starts first: a topic may be made before worker 1 has opened its restored logs."""
    copied = Copied()
    copied.copy(0, 1)
    copied.make("young")
    copied.copy(1)
    disk = copied.restored()
    alone = Gateway(kawal_vnodes=4)
    broker = open_broker(
        disk,
        replace(alone.config, node_id=0),
        random=Random(1),
        now_ms=alone.now_ms,
        wall_ms=alone.now_ms,
        nodes=Nodes(0, number=0, count=2),
    )
    used = {stream for vnode in copied.cluster[1].broker.vnodes.every for stream in vnode.log.streams()}
    assert broker.catalogue.next_stream > max(used)


@pytest.mark.parametrize("moments", [(0, 1), (1, 0)])
def test_a_topic_that_was_deleted_between_the_moments_does_not_keep_a_directory_from_starting(
    moments: tuple[int, int],
) -> None:
    copied = Copied()
    copied.make("t")
    copied.make("deleted")
    copied.copy(0, 1)
    client = copied.cluster[0].client()
    copied.cluster.call(client, DeleteTopicsRequest(topic_names=["deleted"], timeout_ms=1_000), 4)
    copied.cluster.advance(1_000)
    copied.copy(moments[1])
    for count in (1, 2, 3):
        servers = begun(copied.restored(), count)
        servers.advance(1_000)
        assert all(found_in(servers, "t"))
        if moments[1]:  # the catalogue still knows it; worker 1 has dropped its streams
            assert [bool(values) for values in found_in(servers, "deleted")] == [
                leader_of(copied.cluster, "t", index) == 0 for index in range(PARTITIONS)
            ]
            write(servers, "deleted")
        else:
            assert "deleted" not in servers[0].broker.catalogue.by_name
            assert not [orphan for node in servers for orphan in node.broker.topics.orphans]


def test_segments_in_the_store_alone_keep_other_numbers_of_workers_from_starting() -> None:
    disk = MemoryDisk()
    first = Cluster(2, disk=disk)
    marker = f"{first[0].broker.store.path}/{MARKER}"
    path = first[1].broker.store.vnode_path("default", 1)
    raise_format(disk, first[0].broker.store.path, read_marker(disk, marker), worker=1, workers=2)
    write_record(disk, path, RemoteRecord(1 << 40, 5, "c/default/vnode-1/seg/1.wal", 10, 0))
    for number in range(2):
        first.kill(number)
    before = disk.files()
    for count in (1, 3):
        with pytest.raises(OtherWorkers, match=r"with --workers 2 .*nothing was changed"):
            Cluster(count, disk=disk)
    assert disk.files() == before
    assert isinstance(Cluster(2, disk=disk)[1].broker.store, Store)
