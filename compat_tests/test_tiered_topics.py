"""Old records in the object store alone: a small disk, a large backlog, kills, and a store that fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.object_store import ObjectStore, object_store
from compat_tests.test_remote_copy import ROUNDS_WITHIN_SECONDS, restore, settings
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal(reason="Kafka's tier is a plugin, with none for S3 in its distribution")

COUNT = 60_000
SEGMENTS_KEPT = 6


def value_of(number: int) -> bytes:
    """Return the value of a record, 1 KB that does not compress well."""
    return b"%d " % number + (b"%d" % (number * 2_654_435_761)) * 60


def produce(broker: KawalBroker, first: int, count: int) -> None:
    """Write numbered records."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "acks": "all"})
    for number in range(first, first + count):
        producer.produce("a", value_of(number), partition=0)
        if not number % 1_000:
            assert producer.flush(60) == 0, "so that no frame is much larger than a segment"
    assert producer.flush(60) == 0


def read_all(broker: KawalBroker, count: int, *, within_polls: int = 2_000) -> list[bytes]:
    """Read the topic from its beginning, in order; errors that pass are waited out."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "none",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition("a", 0, 0)])
    found: list[bytes] = []
    try:
        for _ in range(within_polls):
            for message in consumer.consume(5_000, timeout=1.0):
                if message.error() is None:
                    assert message.offset() == len(found), "no gap, and nothing twice"
                    found.append(message.value())
            if len(found) >= count:
                return found
    finally:
        consumer.close()
    return found


def local_segments(broker: KawalBroker) -> int:
    """Return the number of segments of the database's logs that are on the disk."""
    return sum(1 for _ in (broker.directory / "data").rglob("vnode-*/*.wal"))


def remote_segments(broker: KawalBroker) -> int:
    """Return the number of segments that are in the store alone."""
    return sum(1 for _ in (broker.directory / "data").rglob("vnode-*/*.remote"))


def tiered_broker(start_broker: StartBroker, store: ObjectStore) -> KawalBroker:
    """Start a server with a topic of which nothing but the newest segments is to stay on the disk."""
    broker = start_broker(
        **settings(store),
        kawal_vnodes="1",
        log_segment_delete_delay_ms="100",
        kawal_remote_cache_bytes="16777216",
    )
    assert isinstance(broker, KawalBroker)
    create_topic(broker, "a", 1, {"remote.storage.enable": "true", "local.retention.bytes": "1048576"})
    return broker


def wait_until_small(broker: KawalBroker, at_least: int) -> None:
    """Wait until most segments have left the disk."""
    eventually(
        lambda: remote_segments(broker) >= at_least and local_segments(broker) <= SEGMENTS_KEPT,
        waiting_for=f"{at_least} segments to leave the disk",
        within_seconds=ROUNDS_WITHIN_SECONDS,
    )


@pytest.mark.timeout(900)
def test_a_backlog_larger_than_the_disk_keeps_is_read_equal_after_restarts_kills_and_failures(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    with object_store(tmp_path / "store") as store:
        broker = tiered_broker(start_broker, store)
        produce(broker, 0, COUNT)
        wait_until_small(broker, 20)
        expected = [value_of(number) for number in range(COUNT)]
        assert read_all(broker, COUNT) == expected
        broker.stop()
        broker.start()
        assert read_all(broker, COUNT) == expected
        broker.kill()
        broker.start()
        assert read_all(broker, COUNT) == expected

        store.pause()
        assert read_all(broker, 1, within_polls=4) == [], "nothing is invented while the store hangs"
        produce(broker, COUNT, 1_000)
        store.resume()
        expected += [value_of(number) for number in range(COUNT, COUNT + 1_000)]
        assert read_all(broker, COUNT + 1_000) == expected

        store.kill()
        assert read_all(broker, 1, within_polls=4) == [], "nor while it is down"
        store.restart()
        assert read_all(broker, COUNT + 1_000) == expected
        lookup = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none"})
        try:
            assert lookup.get_watermark_offsets(TopicPartition("a", 0), timeout=10) == (0, COUNT + 1_000)
            (at,) = lookup.offsets_for_times([TopicPartition("a", 0, 1)], timeout=30)
            assert at.offset == 0
        finally:
            lookup.close()


@pytest.mark.timeout(600)
def test_a_restore_from_the_bucket_has_what_only_the_bucket_had(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    with object_store(tmp_path / "store") as store:
        broker = tiered_broker(start_broker, store)
        produce(broker, 0, 20_000)
        wait_until_small(broker, 5)
        broker.kill()
        restore(store, tmp_path / "restored" / "data")
        again = KawalBroker(tmp_path / "restored", {"kawal.http.listen": "none"})
        again.start()
        try:
            found = read_all(again, 20_000, within_polls=60)
            assert len(found) > 10_000
            assert found == [value_of(number) for number in range(len(found))]
        finally:
            again.stop()


def test_a_server_without_a_store_refuses_the_setting(start_broker: StartBroker) -> None:
    broker = start_broker()
    with pytest.raises(KafkaException, match="Tiered Storage functionality is disabled"):
        create_topic(broker, "b", 1, {"remote.storage.enable": "true"})
