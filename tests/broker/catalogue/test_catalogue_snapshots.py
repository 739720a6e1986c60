"""Snapshots cut the catalogue's log short and lose nothing of the catalogue."""

from __future__ import annotations

import errno

import pytest

from broker.catalogue import catalogue_snapshots
from broker.catalogue.catalogue_records import CatalogueRecord, PartitionsAdded, encode_record
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Gateway
from wal.catalogue import SnapshotJob
from wal.memory_faults import failing


def create(gateway: Gateway, name: str) -> None:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
    answer = gateway.client().call(CreateTopicsRequest(topics=[topic]), 7)
    assert answer.topics[0].error_code == 0


def names(gateway: Gateway) -> list[str]:
    return sorted(topic.name for topic in gateway.client().call(MetadataRequest(topics=None), 12).topics)


@pytest.fixture(autouse=True)
def _early_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_snapshots, "SNAPSHOT_AFTER_BYTES", 500)


def test_a_snapshot_is_written_and_read_at_the_next_start() -> None:
    gateway = Gateway()
    for number in range(20):
        create(gateway, f"topic-{number:02}")
    assert any("snapshot" in path for path in gateway.disk.files())
    gateway.crash()
    assert names(gateway) == [f"topic-{number:02}" for number in range(20)]


def test_ids_go_on_above_those_of_deleted_topics_after_a_snapshot() -> None:
    gateway = Gateway()
    for number in range(20):
        create(gateway, f"topic-{number:02}")
    next_stream = gateway.broker.catalogue.next_stream
    gateway.restart()
    assert gateway.broker.catalogue.next_stream == next_stream


def test_a_failed_snapshot_leaves_the_log_as_it_is() -> None:
    gateway = Gateway()
    gateway.disk.faults.append(failing("write", errno.EIO, path="snapshot", times=100))
    for number in range(20):
        create(gateway, f"topic-{number:02}")
    gateway.crash()
    assert names(gateway) == [f"topic-{number:02}" for number in range(20)]


def test_the_records_are_encoded_by_the_job_not_by_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway()
    snapshots = gateway.broker.snapshots
    create(gateway, "t")
    encoded: list[object] = []

    def encode(record: CatalogueRecord) -> bytes:
        encoded.append(record)
        return encode_record(record)

    monkeypatch.setattr(catalogue_snapshots, "encode_record", encode)
    snapshots.after_bytes = 0
    job = snapshots.begin()
    assert job is not None
    assert encoded == []
    create(gateway, "made-meanwhile")
    job.run()
    assert len(encoded) >= 3
    snapshots.done(None)
    gateway.crash()
    assert names(gateway) == ["made-meanwhile", "t"]


def test_snapshots_cost_no_more_than_the_changes_however_much_exists() -> None:
    """The bytes written for snapshots are at most twice those of the changes."""
    gateway = Gateway()
    written = 0
    snapshot_done = gateway.broker.store.catalogue.snapshot_done

    def counted(job: SnapshotJob) -> None:
        nonlocal written
        written += job.size_bytes
        snapshot_done(job)

    gateway.broker.store.catalogue.snapshot_done = counted  # type: ignore[method-assign]
    changes = 0
    for number in range(200):
        before = gateway.broker.meta.log.next_version
        create(gateway, f"topic-{number:03}")
        changes += gateway.broker.meta.log.next_version > before
    record_bytes = 200 * changes
    assert 0 < written <= 3 * record_bytes


def test_no_snapshot_is_taken_while_a_durable_change_is_not_confirmed() -> None:
    """A snapshot of the catalogue before the confirmation, with the log's version after it, would lose it."""
    gateway = Gateway()
    create(gateway, "grows")
    broker = gateway.broker
    broker.snapshots._log.bytes_since_snapshot = 1 << 20
    broker.metadata_log.append(
        PartitionsAdded(topic_id=broker.find_topic("grows").topic_id.hex, first_stream=900, count=1),
        gateway.now_ms,
    )
    ((vnode, job),) = broker.take_jobs(gateway.now_ms, broker.vnodes.with_appends())
    job.run()
    vnode.job_done(job, None, gateway.now_ms)
    assert broker.find_topic("grows").partition_count == 1
    assert broker.snapshots.begin() is None
    vnode.settle(broker.internal_errors, gateway.now_ms)
    assert broker.find_topic("grows").partition_count == 2
    assert broker.snapshots.begin() is not None
