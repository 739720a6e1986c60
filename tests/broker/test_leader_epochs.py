"""Leader epochs as clients see them, after a repair and after a crash with durability `os`."""

from __future__ import annotations

from typing import Any

from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.records import read_batch_header
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, outcomes, read, send
from wal.memory_image import DROP_ALL
from wal.store_repair import repair_store
from wal.stream import epoch_after_loss

AFTER = epoch_after_loss(0, 1)
"""The epoch after a repair of a log that had none."""

SETTINGS: dict[str, Any] = {"kawal_vnodes": 1, "kawal_segment_bytes": 1 << 16}


def metadata_epoch(client: Client) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    (topic,) = client.call(request, 12).topics
    return int(topic.partitions[0].leader_epoch)


def end_of(client: Client, epoch: int, current: int = -1) -> tuple[int, int, int]:
    item = OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic="t", partitions=[item])]
    )
    (topic,) = client.call(request, 4).topics
    (found,) = topic.partitions
    return found.error_code, found.leader_epoch, found.end_offset


def listed_epoch(client: Client, timestamp: int) -> tuple[int, int]:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    (found,) = outcomes(client.call(request, 7))
    return found.offset, found.leader_epoch


def newest_batch_epoch(client: Client, offset: int) -> int:
    data = fetch(client, "t", offset)
    return read_batch_header(memoryview(bytes(data.records))).leader_epoch


def repaired() -> Gateway:
    """Return a broker after a repair that gave up one of the topic's five records."""
    gateway = Gateway(**SETTINGS)
    create(gateway.client(), "t")
    for number in range(5):
        send(gateway.client(), "t", batch(b"number %d" % number * 100))
    gateway.advance(5_000)
    (path,) = [name for name in gateway.disk.files() if "vnode-0" in name and name.endswith(".wal")]
    disk = gateway.disk.crash()
    disk.damage(path, disk.contents(path).index(b"number 2"), b"NUMBER")
    list(repair_store(disk, "/data", now_ms=1, accept_loss=True))
    return Gateway(disk=disk, **SETTINGS)


def test_after_a_repair_every_api_tells_the_epoch_that_the_batches_carry() -> None:
    gateway = repaired()
    client = gateway.client()
    send(client, "t", batch(b"after"))
    assert metadata_epoch(client) == AFTER
    assert newest_batch_epoch(client, 5) == AFTER
    assert newest_batch_epoch(client, 3) == 0
    assert listed_epoch(client, -1) == (6, AFTER)
    assert listed_epoch(client, -2) == (0, 0)
    assert end_of(client, 0) == (0, 0, 5)
    assert end_of(client, AFTER, current=AFTER) == (0, AFTER, 6)
    assert end_of(client, AFTER + 1) == (0, -1, -1)


def test_clients_with_the_epoch_from_before_the_repair_are_fenced_and_learn_the_new_one() -> None:
    client = repaired().client()
    old = client.call(fetching({("t", 0): 3}, leader_epoch=0), 12)
    assert fetched(old)["t", 0].error_code == 74
    new = client.call(fetching({("t", 0): 3}, leader_epoch=AFTER), 12)
    assert fetched(new)["t", 0].error_code == 0
    assert end_of(client, 0, current=0)[0] == 74


def test_after_a_power_loss_with_durability_os_offsets_given_out_again_have_another_epoch() -> None:
    gateway = Gateway(**SETTINGS, kawal_durability="os", kawal_flush_ms=3_600_000)
    create(gateway.client(), "t")
    kept = [b"first"]
    send(gateway.client(), "t", batch(b"first"))  # the first flush after a start is due at once
    for number in (1, 2):
        lost = send(gateway.client(), "t", batch(b"lost")).base_offset
        gateway.disk = gateway.disk.crash(DROP_ALL)
        gateway.open_again()
        client = gateway.client()
        assert read(client, "t") == kept
        assert metadata_epoch(client) == number
        assert end_of(client, number - 1) == (0, number - 1, lost)
        kept.append(b"another")
        assert send(client, "t", batch(b"another")).base_offset == lost
        assert newest_batch_epoch(client, lost) == number


def test_a_clean_stop_and_a_crash_with_durability_disk_begin_no_epoch() -> None:
    for durability, ends in (("os", ["restart"]), ("disk", ["restart", "crash"])):
        gateway = Gateway(**SETTINGS, kawal_durability=durability)
        create(gateway.client(), "t")
        send(gateway.client(), "t", batch(b"a"))
        for end in ends:
            getattr(gateway, end)()
            assert metadata_epoch(gateway.client()) == 0


def test_epochs_do_not_pile_up_over_crashes_without_records() -> None:
    gateway = Gateway(**SETTINGS, kawal_durability="os")
    create(gateway.client(), "t")
    send(gateway.client(), "t", batch(b"kept"))
    gateway.advance(1_000)
    for _ in range(5):
        gateway.disk = gateway.disk.crash(DROP_ALL)
        gateway.open_again()
        gateway.settle()
    partition = gateway.partition("t")
    assert partition.leader_epochs() == [(0, 0), (5, 1)]
