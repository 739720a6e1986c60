"""Damage to the catalogue's files is told at the start; nothing that is still good is ever lost by it."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, read, send, values
from tests.wal.logs import put, read_all
from wal.errors import MetadataLost
from wal.inspect import frames
from wal.memory_disk import MemoryDisk
from wal.segment import ANOTHER_HISTORY
from wal.store_repair import repair_store

META_SEGMENT = "/data/meta/00000000000000000000.wal"
NAMES = ("orders", "payments", "clicks")


SMALL: dict[str, Any] = {"kawal_vnodes": 2, "kawal_segment_bytes": 1 << 16}


def stopped() -> MemoryDisk:
    """Return the disk of a broker that stopped cleanly: three topics of one partition, a record in each."""
    gateway = Gateway(**SMALL)
    client = gateway.client()
    for name in NAMES:
        create(client, name)
        send(client, name, batch(name.encode()))
    gateway.settle()
    gateway.broker.begin_stop(gateway.now_ms)
    gateway.settle()
    gateway.broker.close(gateway.now_ms)
    return gateway.disk.kill()


def records(gateway: Gateway) -> dict[str, list[bytes]]:
    gateway.advance(10_000)
    return {name: read(gateway.client(), name) for name in NAMES if gateway.broker.catalogue.find(name)}


EVERYTHING = {name: [name.encode()] for name in NAMES}


def flipped(disk: MemoryDisk, position: int, bit: int = 0) -> MemoryDisk:
    after = disk.kill()
    byte = disk.contents(META_SEGMENT)[position]
    after.damage(META_SEGMENT, position, bytes((byte ^ 1 << bit,)))
    return after


def test_a_flipped_bit_in_the_catalogue_is_told_or_harmless_and_deletes_nothing() -> None:
    disk = stopped()
    told: list[str] = []
    for position in range(0, len(disk.contents(META_SEGMENT).rstrip(b"\0")), 17):
        damaged = flipped(disk, position, position % 8)
        try:
            gateway = Gateway(disk=damaged, **SMALL)
        except MetadataLost as error:
            told.append(str(error))
        else:
            assert records(gateway) == EVERYTHING
        assert records(Gateway(disk=flipped(damaged.kill(), position, position % 8), **SMALL)) == EVERYTHING
    assert len(told) > 40
    assert all("/data/meta" in text for text in told)


def test_a_flipped_bit_in_the_number_of_partitions_shows_no_other_topics_records() -> None:
    disk = stopped()
    position = disk.contents(META_SEGMENT).index(b'"partition_count":1') + len(b'"partition_count":')
    with pytest.raises(MetadataLost, match="wrong crc"):
        Gateway(disk=flipped(disk, position, 1))


def meta_files(disk: MemoryDisk) -> dict[str, bytes]:
    return {path: disk.contents(path) for path in disk.files() if path.startswith("/data/meta/")}


def with_meta(disk: MemoryDisk, files: dict[str, bytes]) -> MemoryDisk:
    """Return a copy of the disk with other files of the catalogue, as a backup restores them."""
    after = disk.kill()
    for path in meta_files(after):
        after.remove(path)
    for path, data in files.items():
        put(after, path, data)
    return after


def stored(gateway: Gateway) -> list[bytes]:
    """Return the values in all streams, with a topic or without one."""
    found = []
    for vnode in gateway.broker.vnodes["default"]:
        for stream_id in vnode.log.streams():
            found += values(read_all(vnode.log, stream_id))
    return sorted(found)


def test_a_repair_of_any_frame_of_the_catalogue_gives_a_server_that_starts_and_keeps_every_stream() -> None:
    disk = stopped()
    starts = [frame.position for frame in frames(disk, META_SEGMENT) if frame.kind == "data"]
    assert len(starts) >= 4
    for position in starts:
        damaged = flipped(disk, position + 20)
        reports = list(repair_store(damaged, "/data", now_ms=1, accept_loss=True))
        assert [report.lost_frames for _, report in reports] == [1, 0, 0]
        gateway = Gateway(disk=damaged, **SMALL)
        gateway.advance(200_000)
        gateway.restart()
        gateway.advance(200_000)
        assert stored(gateway) == sorted(name.encode() for name in NAMES)
        assert {name: EVERYTHING[name] for name in records(gateway)} == records(gateway)
        create(gateway.client(), "new")
        assert read(gateway.client(), "new") == []
        assert records(Gateway(disk=with_meta(gateway.disk, meta_files(disk)), **SMALL)) == EVERYTHING


def test_a_catalogue_restored_from_an_older_backup_drops_nothing_and_mixes_no_topics() -> None:
    gateway = Gateway(**SMALL)
    create(gateway.client(), "old")
    send(gateway.client(), "old", batch(b"old"))
    gateway.restart()
    backup = meta_files(gateway.disk)
    create(gateway.client(), "newer", 2)
    send(gateway.client(), "newer", batch(b"newer-0"))
    send(gateway.client(), "newer", batch(b"newer-1"), 1)
    gateway.restart()
    gateway = Gateway(disk=with_meta(gateway.disk, backup), **SMALL)
    gateway.advance(100_000)
    assert len(gateway.broker.topics.orphans) == 2
    create(gateway.client(), "after")
    assert read(gateway.client(), "after") == []
    gateway.restart()
    gateway.advance(100_000)
    assert stored(gateway) == [b"newer-0", b"newer-1", b"old"]


def test_producer_ids_that_the_catalogue_lost_are_not_given_out_twice() -> None:
    gateway = Gateway(**SMALL)
    create(gateway.client(), "old")
    gateway.restart()
    backup = meta_files(gateway.disk)
    first = producer_id(gateway)
    assert send(gateway.client(), "old", batch(b"a", producer=(first, 0, 0))).error_code == 0
    gateway.restart()
    gateway = Gateway(disk=with_meta(gateway.disk, backup), **SMALL)
    second = producer_id(gateway)
    assert second > first
    assert send(gateway.client(), "old", batch(b"b", producer=(second, 0, 0))).base_offset == 1


def test_a_restored_directory_gives_out_no_producer_id_of_the_history_that_is_lost() -> None:
    """Bug: a producer that outlived the loss and a new one had one id, and passed for one producer."""
    gateway = Gateway(**SMALL)
    create(gateway.client(), "t")
    producer_id(gateway)
    backup = gateway.disk.kill()
    gateway.restart()
    survivor = producer_id(gateway)
    for number in range(2):
        backup.open(f"/data/default/vnode-{number}/{ANOTHER_HISTORY}", create=True).close()
    gateway = Gateway(disk=backup, **SMALL)
    new = producer_id(gateway)
    assert new > survivor
    assert send(gateway.client(), "t", batch(b"a", producer=(survivor, 0, 0))).base_offset == 0
    assert send(gateway.client(), "t", batch(b"b", producer=(new, 0, 0))).base_offset == 1
    gateway.restart()
    assert producer_id(gateway) > new


def producer_id(gateway: Gateway) -> int:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
    answer = gateway.client().call(request, 4)
    assert answer.error_code == 0, answer
    return int(answer.producer_id)


def test_orphans_are_adopted_as_a_topic_with_their_records_in_place() -> None:
    gateway = Gateway(**SMALL)
    backup = meta_files(gateway.disk)
    create(gateway.client(), "lost", 3)
    for index in (0, 2):
        send(gateway.client(), "lost", batch(b"%d" % index), index)
    gateway.restart()
    first, _, last = gateway.broker.find_topic("lost").stream_ids()
    gateway.broker.begin_stop(gateway.now_ms)
    gateway.broker.close(gateway.now_ms)
    gateway = Gateway(disk=with_meta(gateway.disk, backup), **SMALL)
    gateway.broker.topics.adopt("found", database="default", first=first, last=last, now_ms=gateway.now_ms)
    gateway.settle()
    assert not gateway.broker.topics.orphans
    gateway.restart()
    assert [read(gateway.client(), "found", partition=index) for index in range(3)] == [[b"0"], [], [b"2"]]
    gateway.broker.delete_topic(gateway.broker.find_topic("found"), gateway.now_ms)
    gateway.settle()
    assert stored(gateway) == []
