"""Deleting frees disk space within seconds, without waiting for the next retention check."""

from __future__ import annotations

import errno

import pytest

from broker.upkeep.retirement import ROUNDS
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.broker.databases import create_database, drop_database
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, send
from wal.errors import IndexNotLoaded, RemoteWaits
from wal.memory_faults import failing

NEVER_MS = 10**12


def filled() -> tuple[Gateway, Client]:
    """Return a broker with some segments of one topic, whose retention never runs."""
    gateway = Gateway(
        kawal_vnodes=1,
        kawal_segment_bytes=20_000,
        log_retention_check_interval_ms=NEVER_MS,
        log_segment_delete_delay_ms=0,
    )
    client = gateway.client()
    create(client, "t")
    for _ in range(20):
        send(client, "t", batch(b"x" * 8_000))
    assert segments(gateway) > 8
    return gateway, client


def segments(gateway: Gateway) -> int:
    return gateway.broker.vnodes["default"][0].log.usage()[0]


def delete_records(client: Client) -> None:
    asked = DeleteRecordsPartition(partition_index=0, offset=-1)
    topic = DeleteRecordsTopic(name="t", partitions=[asked])
    client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2)


def test_a_deleted_topic_leaves_the_disk_soon() -> None:
    gateway, _ = filled()
    gateway.broker.delete_topic(gateway.broker.find_topic("t"), gateway.now_ms)
    gateway.settle()
    gateway.advance(ROUNDS * 1_000)
    assert segments(gateway) == 1
    files = [name for name in gateway.disk.list("/data/default/vnode-0") if ".wal" in name]
    assert len(files) == 1


def test_deleted_records_leave_the_disk_soon() -> None:
    gateway, client = filled()
    delete_records(client)
    gateway.advance(ROUNDS * 1_000)
    assert segments(gateway) <= 2


def test_without_a_deletion_nothing_is_looked_at() -> None:
    gateway, _ = filled()
    gateway.advance(10_000)
    deadline = gateway.broker.timers.next_deadline()
    assert deadline is None or deadline > gateway.now_ms + 1_000
    assert segments(gateway) > 8


def test_many_deletions_are_one_round_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, client = filled()
    (vnode,) = gateway.broker.vnodes["default"]
    rounds: list[int] = []
    retire = vnode.log.retire_segments

    def counted() -> int:
        rounds.append(gateway.now_ms)
        return retire()

    monkeypatch.setattr(vnode.log, "retire_segments", counted)
    for _ in range(50):
        delete_records(client)
        gateway.advance(100)
    assert 4 <= len(rounds) <= 6
    gateway.advance(60_000)
    assert len(rounds) <= 6 + ROUNDS


def test_a_disk_that_fails_is_left_to_the_next_check() -> None:
    gateway, client = filled()
    delete_records(client)
    gateway.disk.faults.append(failing("read", errno.EIO, times=10**6))
    gateway.disk.faults.append(failing("open", errno.EIO, times=10**6))
    gateway.advance(10_000)
    gateway.disk.faults.clear()
    delete_records(client)
    gateway.advance(10_000)
    assert segments(gateway) <= 2


def test_a_dropped_database_needs_no_round_any_more() -> None:
    gateway, client = filled()
    create_database(client, "d", vnodes="1")
    create(client, "u", 1, **{"kawal.database": "d"})
    gateway.broker.delete_topic(gateway.broker.find_topic("u"), gateway.now_ms)
    gateway.settle()
    assert drop_database(client, "d").error_code == 0
    gateway.advance(10_000)
    assert list(gateway.broker.vnodes) == ["default"]


def test_what_waits_for_the_object_store_is_looked_at_again_and_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gateway, client = filled()
    log = gateway.broker.vnodes["default"][0].log
    retire, waits = log.retire_segments, [1, 1]

    def first_waits() -> int:
        if waits:
            waits.pop()
            raise RemoteWaits(IndexNotLoaded("a.idx", lambda: None, lambda: True))
        return retire()

    monkeypatch.setattr(log, "retire_segments", first_waits)
    delete_records(client)
    gateway.advance(ROUNDS * 1_000)
    assert (waits, segments(gateway) <= 2) == ([], True)
    assert "cannot be retired" not in caplog.text
