"""`kawal backup` beside a server under load, and a start from what `kawal restore` made of it."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker
from compat_tests.confluent import open_consumer
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KAWAL, KawalBroker
from compat_tests.topics import create_topic, delete_topic
from compat_tests.writers import Writer

pytestmark = pytest.mark.only_kawal(reason="Kafka has no backups")

SETTINGS = {
    "kawal_segment_bytes": "1048576",
    "log_retention_check_interval_ms": "200",
    "log_segment_delete_delay_ms": "0",
}


def kawal(*words: str) -> Any:
    done = subprocess.run([KAWAL, *words, "--json"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def values_of(broker: Broker, topic: str) -> dict[int, int]:
    """Return all values of partition 0 by offset."""
    found: dict[int, int] = {}
    with open_consumer(broker) as consumer:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
        consumer.assign([TopicPartition(topic, 0, low)])
        deadline = time.monotonic() + 60
        while len(found) < high - low:
            assert time.monotonic() < deadline, f"{len(found)} of {high - low}"
            for message in consumer.consume(10_000, timeout=1):
                assert message.error() is None
                found[message.offset()] = int(message.value())
    return found


def test_every_record_acknowledged_before_a_backup_is_there_after_a_restore(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = start_broker(**SETTINGS)
    for topic in ("a", "b"):
        create_topic(broker, topic, 1)
    create_topic(broker, "short", 1, {"retention.bytes": "1", "segment.bytes": "1048576"})
    data, folder = str(broker.directory / "data"), str(tmp_path / "backups")
    made: list[tuple[Any, dict[str, dict[int, int]]]] = []
    with Writer(broker, "a") as a, Writer(broker, "b") as b, Writer(broker, "short") as short:
        for number in range(3):
            for writer in (a, b, short):
                writer.wait_for_acks(20_000)
            create_topic(broker, f"more-{number}", 3)
            promised = {"a": dict(a.acked), "b": dict(b.acked)}
            made.append((kawal("backup", "--data", data, "--to", folder), promised))
            delete_topic(broker, f"more-{number}")
    assert made[-1][0]["linked_bytes"], "the later backups share files with the first one"
    cluster = AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=60).cluster_id
    for number, (backup, promised) in enumerate(made):
        place = tmp_path / f"restored-{number}"
        kawal("restore", backup["path"], "--data", str(place / "data"))
        again = KawalBroker(place, {"kawal.http.listen": "none"})
        again.start()
        try:
            admin = AdminClient({"bootstrap.servers": again.bootstrap})
            metadata = admin.list_topics(timeout=60)
            assert metadata.cluster_id == cluster
            assert f"more-{number}" in metadata.topics
            for topic, acked in promised.items():
                values = values_of(again, topic)
                missing = {value: offset for value, offset in acked.items() if values.get(offset) != value}
                assert not missing, f"{len(missing)} of {len(acked)} of {topic}"
                assert sorted(values) == list(range(len(values)))
            create_topic(again, "new", 1)
            with Writer(again, "new") as writer:
                writer.wait_for_acks(100)
        finally:
            again.stop()
        assert " ERROR " not in again.process.output()
