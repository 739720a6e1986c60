"""The writer of markers: what it reports, and when."""

from __future__ import annotations

import errno

from broker.coordinators.markers import Marker, Result
from groups.effects import EndMarker
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.txn import Producer
from wal.memory_faults import failing


def write(gateway: Gateway, end: EndMarker, *places: tuple[str, int]) -> list[list[Result]]:
    reports: list[list[Result]] = []
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
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert reports == [[(("t", 0), 0), (("t", 1), 0), (("t", 2), 0), (("u", 0), missing)]]


def test_a_failed_sync_is_reported() -> None:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t")
    reports = write(gateway, EndMarker(7, 0, 0, commit=True), ("t", 0))
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-"))
    gateway.run_jobs()
    assert reports == [[(("t", 0), ErrorCode.KAFKA_STORAGE_ERROR)]]


def test_nothing_to_write_is_reported_at_once() -> None:
    assert write(Gateway(), EndMarker(7, 0, 0, commit=True)) == [[]]


def test_the_place_of_a_marker_is_the_vnode_of_its_partition() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    writer = gateway.broker.coordinators.markers
    assert writer.vnode_of(("t", 0)) is gateway.partition("t").vnode
    assert writer.vnode_of(("t", 1)) is None
    assert writer.vnode_of(("u", 0)) is None


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
