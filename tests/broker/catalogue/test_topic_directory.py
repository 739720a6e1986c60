"""Changes of the catalogue are planned, then confirmed or undone with their records."""

from __future__ import annotations

import errno

import pytest

from broker.catalogue.topic_admin import NewTopic
from broker.catalogue.topics import Topic
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from wal.memory_faults import failing

SETTINGS = {"kawal_vnodes": 2}


def make(gateway: Gateway, name: str, partitions: int = 1) -> Topic:
    topics = gateway.broker.topics
    record = topics.check_new(NewTopic(name=name, partition_count=partitions), 0)
    return topics.create(record, gateway.now_ms)


def test_a_topic_is_planned_until_it_is_durable(gateway: Gateway) -> None:
    topic = make(gateway, "t")
    assert gateway.broker.catalogue.by_name["t"] is topic
    assert gateway.broker.catalogue.find("t") is None
    gateway.settle()
    assert gateway.broker.catalogue.find("t") is topic


def test_callers_are_told_in_order_after_their_change_is_confirmed(gateway: Gateway) -> None:
    told: list[tuple[str, bool]] = []
    for name in ("a", "b"):
        topic = make(gateway, name)
        gateway.broker.metadata_log.when_durable(
            lambda error, name=name, topic=topic: told.append((name, topic.recorded)),  # type: ignore[misc]
            gateway.now_ms,
        )
    gateway.settle()
    assert told == [("a", True), ("b", True)]


def test_nothing_to_wait_for_is_told_at_once(gateway: Gateway) -> None:
    told: list[ErrorCode | None] = []
    gateway.broker.metadata_log.when_durable(told.append, gateway.now_ms)
    assert told == [None]


def test_lost_changes_are_undone_newest_first(gateway: Gateway) -> None:
    kept = make(gateway, "kept", 2)
    gateway.settle()
    topics, catalogue = gateway.broker.topics, gateway.broker.catalogue
    before = (set(catalogue.by_name), catalogue.partition_count, dict(kept.configs))
    make(gateway, "new")
    topics.change_configs(kept, {"retention.ms": "1"}, gateway.now_ms)
    topics.change_configs(kept, {"retention.ms": "2"}, gateway.now_ms)
    topics.delete(kept, gateway.now_ms)
    make(gateway, "kept", 7)
    told: list[ErrorCode | None] = []
    gateway.broker.metadata_log.when_durable(told.append, gateway.now_ms)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.run_jobs()
    assert told == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert (set(catalogue.by_name), catalogue.partition_count, dict(kept.configs)) == before
    assert catalogue.find("kept") is kept
    assert catalogue.find_id(kept.topic_id) is kept


def test_while_the_catalogues_log_has_failed_every_change_is_refused_and_changes_nothing(
    gateway: Gateway,
) -> None:
    topic = make(gateway, "t")
    gateway.settle()
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    make(gateway, "lost")
    gateway.run_jobs()
    with pytest.raises(RequestError) as refused:
        gateway.broker.topics.delete(topic, gateway.now_ms)
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert gateway.broker.catalogue.find("t") is topic


def test_partitions_lie_on_the_vnodes_in_turn(gateway: Gateway) -> None:
    topic = make(gateway, "t", 4)
    vnodes = [gateway.broker.topics.partition(topic, index).vnode.index for index in range(4)]
    assert vnodes in ([0, 1, 0, 1], [1, 0, 1, 0])


@pytest.mark.parametrize("index", [-1, 2])
def test_a_topic_has_the_partitions_it_has(gateway: Gateway, index: int) -> None:
    topic = make(gateway, "t", 2)
    with pytest.raises(RequestError) as refused:
        gateway.broker.topics.partition(topic, index)
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_settings_follow_the_topics_configs(gateway: Gateway) -> None:
    topic = make(gateway, "t")
    topics = gateway.broker.topics
    assert topics.settings(topic) is topics.settings(topic)
    topics.change_configs(topic, {"retention.ms": "123"}, gateway.now_ms)
    assert topics.settings(topic).retention_ms == 123


def crashed_in_deletion(gateway: Gateway, *, snapshot: bool) -> int:
    """Crash between the record of a deletion and the drop of its stream; return the stream's id."""
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"a"))
    topic = gateway.broker.find_topic("t")
    (stream_id,) = topic.stream_ids()
    log = gateway.partition("t").vnode.log
    gateway.disk.faults.append(failing("sync", errno.EIO, path="default/vnode-", times=1_000))
    gateway.broker.delete_topic(topic, gateway.now_ms)
    gateway.settle()
    if snapshot:
        gateway.broker.snapshots.after_bytes = 0
        gateway.run_jobs()
    assert stream_id in log.streams()
    gateway.disk.faults.clear()
    gateway.crash()
    gateway.settle()
    return stream_id


@pytest.mark.parametrize("snapshot", [False, True])
def test_streams_of_a_deleted_topic_are_dropped_at_the_start_also_after_a_snapshot(
    gateway: Gateway, snapshot: bool
) -> None:
    stream_id = crashed_in_deletion(gateway, snapshot=snapshot)
    assert all(stream_id not in vnode.log.streams() for vnode in gateway.broker.vnodes["default"])
    assert not gateway.broker.topics.orphans
    gateway.broker.topics.dropped.drop_soon()
    assert not gateway.broker.catalogue.deleted_streams


def test_streams_without_a_topic_or_the_record_of_its_deletion_are_kept_and_told(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    log = gateway.broker.vnodes["default"][0].log
    log.append(999, batch(b"orphan"))
    gateway.settle()
    for _ in range(2):
        gateway.restart()
        gateway.advance(10_000)
        (orphan,) = gateway.broker.topics.orphans
        assert (orphan.vnode.name, orphan.stream_id, orphan.offsets) == ("default/vnode-0", 999, (0, 1))
    assert "default/vnode-0: 1 streams with 74 bytes belong to no topic and are kept: 999" in caplog.text


def test_ids_that_the_logs_know_are_not_given_out_again_when_the_catalogue_forgot_them(
    gateway: Gateway,
) -> None:
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"a", producer=(5_000, 0, 0)))
    send(client, "t", batch(b"a", producer=(1 << 40, 0, 0)))
    gateway.broker.vnodes["default"][0].log.append(999, batch(b"orphan"))
    gateway.settle()
    gateway.restart()
    assert gateway.broker.catalogue.next_stream == 1_000
    assert gateway.broker.catalogue.next_producer_id == 5_001


def test_orphans_on_a_damaged_log_do_not_keep_the_server_from_starting(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    for _ in range(3):
        gateway.broker.vnodes["default"][0].log.append(999, batch(bytes(500)))
        send(client, "t", batch(b"a"))
    gateway.advance(5_000)
    (path,) = [name for name in gateway.disk.files() if "vnode-0" in name and name.endswith(".wal")]
    gateway.disk = gateway.disk.crash()
    gateway.disk.damage(path, 1_300, b"rot")
    gateway.open_again()
    assert {vnode.log.state for vnode in gateway.broker.vnodes["default"]} == {"OPEN", "DAMAGED"}
