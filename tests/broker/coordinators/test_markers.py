"""The writer of markers: what it reports, and when."""

from __future__ import annotations

import errno

from broker.coordinators.markers import Marker, Refused
from groups.effects import EndMarker
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.txn import Producer
from wal.memory_faults import failing


def write(gateway: Gateway, end: EndMarker, *places: tuple[str, int]) -> list[Refused]:
    reports: list[Refused] = []
    for _ in gateway.broker.coordinators.markers.steps(Marker(end, False), places, reports.append):
        continue
    return reports


def test_a_report_comes_when_the_markers_of_all_logs_are_durable() -> None:
    gateway = Gateway(kawal_vnodes=3)
    create(gateway.client(), "t", partitions=3)
    end = EndMarker(7, 0, 0, commit=True)
    reports = write(gateway, end, ("t", 0), ("t", 1), ("t", 2), ("u", 0))
    assert reports == []
    gateway.settle()
    assert reports == [{("u", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}]


def test_a_failed_sync_is_reported() -> None:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t")
    reports = write(gateway, EndMarker(7, 0, 0, commit=True), ("t", 0))
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-"))
    gateway.run_jobs()
    assert reports == [{("t", 0): ErrorCode.KAFKA_STORAGE_ERROR}]


def test_nothing_to_write_is_reported_at_once() -> None:
    assert write(Gateway(), EndMarker(7, 0, 0, commit=True)) == [{}]


def test_a_marker_goes_to_the_vnode_of_its_partition_if_it_is_needed_at_all() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    writer = gateway.broker.coordinators.markers
    home, other = gateway.partition("t").vnode, gateway.broker.meta
    assert writer.goes_to(("t", 0), home)
    assert not writer.goes_to(("t", 0), other)
    assert writer.goes_to(("t", 1), other), "there is no such partition"
    assert writer.goes_to(("u", 0), other), "there is no such topic"


def test_offsets_that_wait_for_their_topic_to_be_created_get_the_marker_after_them() -> None:
    """Found by a simulation: the topic was created after the abort, and the offsets hung for ever."""
    gateway = Gateway()
    create(gateway.client(), "t")
    producer = Producer(gateway)
    progress = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=None)
    request = TxnOffsetCommitRequest(
        transactional_id="tx",
        group_id="g",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[progress])],
    )
    producer.client.send(request, 5)
    while not gateway.broker.groups.has_backlog:
        gateway.run_jobs()
        gateway.broker.scheduler.run()
    gateway.client().send(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000), 5)
    gateway.settle()
    for _ in range(3):
        gateway.advance(2_000)
        gateway.settle()
    assert not gateway.broker.groups._machine._context.staged
    (partition,) = [
        partition
        for index in range(50)
        if (partition := gateway.partition("__consumer_offsets", index)).high_watermark
    ]
    assert partition.last_stable_offset == partition.high_watermark


def test_a_marker_that_is_missing_after_a_failed_sync_is_written_again() -> None:
    gateway = Gateway(kawal_vnodes=3)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway)
    for index in range(4):
        producer.write("t", index, b"a")
    producer.client.send(producer.ending(commit=True), 5)
    while not producer.client.answers():
        gateway.run_jobs()
    gateway.broker.scheduler.run()
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-"))
    gateway.run_jobs()
    gateway.advance(20_000)
    gateway.settle()
    assert all(
        gateway.partition("t", index).last_stable_offset == gateway.partition("t", index).high_watermark
        for index in range(4)
    )
