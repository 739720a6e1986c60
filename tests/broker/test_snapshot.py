"""A snapshot has a broker's counters and the contents of its logs, is bounded, and does not change."""

from __future__ import annotations

import errno
from collections import Counter

import pytest

from broker.loop.slices import ITEMS_PER_STEP, at_once
from broker.loop.stats import Cause
from broker.snapshot import PartitionState, Snapshot, not_ready, partition_steps
from broker.storage.partition import Partition
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create, fetching, producing, send
from tests.broker.numbered import dedup_topic, numbered, sent
from tests.broker.topic_requests import deleted
from wal.disk_errors import disk_error
from wal.memory_disk import MemoryDisk


def test_requests_are_told_by_api_and_version_with_their_errors() -> None:
    gateway = Gateway()
    client = gateway.client()
    for _ in range(3):
        client.call(ApiVersionsRequest(), 2)
    missing = MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)
    client.call(missing, 9)
    found = {(counts.api, counts.version): counts for counts in Snapshot.take(gateway.broker).requests}
    assert found["api_versions", 2].answered == 3
    assert found["api_versions", 2].errors == {}
    assert found["metadata", 9].errors == {3: 1}


def test_an_api_that_is_not_served_has_its_number() -> None:
    gateway = Gateway()
    gateway.broker.stats.request_stats(999, 1)
    assert [counts.api for counts in Snapshot.take(gateway.broker).requests] == ["999"]


def test_partitions_tell_their_offsets_and_sizes() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", partitions=2)
    data = batch(b"v", b"w")
    send(client, "t", data, 1)
    empty, used = Snapshot.take(gateway.broker).partitions
    assert empty == PartitionState("t", 0, 0, 0, 0)
    assert used == PartitionState("t", 1, 0, 2, len(data))


def test_partitions_beyond_the_limit_are_counted() -> None:
    gateway = Gateway(kawal_metrics_partitions_max=5)
    client = gateway.client()
    create(client, "a", partitions=4)
    create(client, "b", partitions=4)
    snapshot = Snapshot.take(gateway.broker)
    assert [(partition.topic, partition.partition) for partition in snapshot.partitions] == [
        ("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0),
    ]  # fmt: skip
    assert snapshot.gauges["partitions"] == 8
    assert snapshot.gauges["partitions_without_metrics"] == 3


def test_topics_may_come_and_go_between_the_steps_of_a_snapshot() -> None:
    gateway = Gateway()
    client = gateway.client()
    for name in ("a", "b", "c"):
        create(client, name, partitions=ITEMS_PER_STEP)
    steps = partition_steps(gateway.broker)
    next(steps)
    deleted(client, "b")
    create(client, "d")
    states = at_once(steps)
    assert Counter(state.topic for state in states) == {"a": ITEMS_PER_STEP, "c": ITEMS_PER_STEP}


def test_a_partition_whose_end_cannot_be_read_leaves_the_others_in_the_metrics(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = Gateway()
    client = gateway.client()
    for name in ("a", "b", "c"):
        create(client, name)
    broken = gateway.broker.find_topic("b")
    end = Partition.high_watermark.fget  # type: ignore[attr-defined]

    def end_of(partition: Partition) -> int:
        if partition.topic is broken:
            raise disk_error("open", "b.wal", errno.ENOENT)
        return int(end(partition))

    monkeypatch.setattr(Partition, "high_watermark", property(end_of))
    assert [state.topic for state in at_once(partition_steps(gateway.broker))] == ["a", "c"]
    assert "partition 0 of topic 'b' is not in the metrics: open 'b.wal' failed" in caplog.text


def test_connections_bytes_and_waiting_fetches_are_told() -> None:
    gateway = Gateway()
    waiting, gone = gateway.client(), gateway.client()
    create(waiting, "t")
    waiting.send(fetching({("t", 0): 0}, max_wait_ms=1000), 11)
    gone.close()
    snapshot = Snapshot.take(gateway.broker)
    assert snapshot.gauges["connections"] == 1
    assert snapshot.gauges["parked_fetches"] == 1
    assert snapshot.counters["connections_opened"] == 2
    assert snapshot.closed[Cause.CLIENT.value] == 1
    assert snapshot.counters["received_bytes"] > 0
    assert snapshot.counters["sent_bytes"] > 0


def test_logs_tell_their_state_and_size() -> None:
    gateway = Gateway(kawal_vnodes=2)
    client = gateway.client()
    create(client, "t")
    client.send(producing(("t", 0, batch(b"v"))), 9)
    logs = {log.name: log for log in Snapshot.take(gateway.broker).vnodes}
    assert set(logs) == {"meta/vnode-0", "default/vnode-0", "default/vnode-1"}
    assert {log.state for log in logs.values()} == {"open"}
    assert sum(log.open_frame_bytes > 0 for log in logs.values()) == 1
    gateway.settle()
    logs = {log.name: log for log in Snapshot.take(gateway.broker).vnodes}
    assert sum(log.stream_count for log in logs.values()) == 1
    assert sum(log.segment_count for log in logs.values()) >= 2


def test_named_producers_and_their_repetitions_are_counted() -> None:
    gateway = Gateway(kawal_vnodes=2)
    client = gateway.client()
    dedup_topic(client, partitions=2)
    for name, partition in ((b"a", 0), (b"b", 1)):
        sent(client, 1, 2, 3, name=name, partition=partition)
    sent(client, 2, 3, 4, name=b"a")
    sent(client, 1, 2, 3, name=b"b", partition=1)
    snapshot = Snapshot.take(gateway.broker)
    assert snapshot.gauges["producer_bindings"] == 2
    assert snapshot.counters["producer_records_repeated"] == 5
    assert send(client, "t", numbered(9, name=b""), 0).error_code == ErrorCode.INVALID_RECORD
    assert Snapshot.take(gateway.broker).counters["producer_records_repeated"] == 5
    gateway.restart()
    assert Snapshot.take(gateway.broker).gauges["producer_bindings"] == 2


def test_a_snapshot_does_not_change_any_more() -> None:
    gateway = Gateway()
    client = gateway.client()
    client.call(ApiVersionsRequest(), 2)
    snapshot = Snapshot.take(gateway.broker)
    client.call(ApiVersionsRequest(), 2)
    (counts,) = snapshot.requests
    assert (counts.api, counts.answered) == (ApiKey.API_VERSIONS.name.lower(), 1)


def test_a_broker_is_ready_until_it_stops() -> None:
    gateway = Gateway()
    assert not_ready(gateway.broker) == []
    gateway.broker.begin_stop(START_MS)
    assert not_ready(gateway.broker) == ["the server is stopping"]


def test_a_log_that_takes_no_records_makes_a_broker_not_ready() -> None:
    gateway = Gateway(disk=MemoryDisk())
    (vnode, *_) = gateway.broker.vnodes["default"]
    vnode.log._state.closed = True
    assert not_ready(gateway.broker) == ["log default/vnode-0 is closed and takes no records"]
