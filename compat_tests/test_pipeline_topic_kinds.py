"""Jobs over topics of every kind: partitions that split, ids, deduplication, compaction, views."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.pipeline_copies import CopyJob, numbers_of, read_all
from compat_tests.pipeline_jobs import PipelineJob, produce_numbers
from compat_tests.pipeline_kills.ground import Ground
from compat_tests.test_console import kawal
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from pipeline.errors import TargetError

pytestmark = [
    pytest.mark.timeout(300, method="signal"),
    pytest.mark.only_kawal("Apache Kafka has no such topics"),
]

SPLITTING = {
    "kawal.partition.autosplit.mode": "paused",
    "kawal.partition.write.bytes.per.sec": "1000000000",
}


def produce_keyed(broker: Broker, topic: str, numbers: range, *, partition: int = 0) -> None:
    """Produce numbers with 20 keys, named as sources of deduplicated topics are."""
    producer = make_producer(broker)
    for number in numbers:
        headers = [("kawal-producer-id", b"meter"), ("kawal-seqno", struct.pack(">q", number))]
        producer.produce(topic, b'{"n":%d}' % number, b"k%d" % (number % 20), partition, headers=headers)
    assert producer.flush(60) == 0


def landed(job: PipelineJob) -> list[int]:
    return sorted(n for (n,) in job.rows("n"))


def test_a_topic_whose_partitions_split_between_and_within_batches_lands_and_is_copied_whole(
    broker: Broker, start_broker: StartBroker, topic: str, tmp_path: Path
) -> None:
    create_topic(broker, topic, 1, SPLITTING)
    other = start_broker()
    land = PipelineJob(tmp_path, broker, topic)
    ground = Ground(broker, tmp_path, "parquet", topic, land)
    copy = CopyJob(tmp_path / "copy", broker, other, topic)
    made = 0
    for split in (0, 1, 0):
        produce_keyed(broker, topic, range(made, made + 90))
        kawal(broker, "topics split", topic, "--partition", str(split))
        produce_keyed(broker, topic, range(made + 90, made + 180))
        made += 180
        assert land.run_here()["total"]["rows"] == made
        copy.run_here()
    assert landed(land) == numbers_of(other, topic) == list(range(made))
    ground.must_be_equal(rows=made)
    copy.must_be_equal(made)
    by_key: dict[bytes, list[int]] = {}
    for _, key, value, _, _ in read_all(broker, topic):
        by_key.setdefault(key or b"", []).append(json.loads(value or b"")["n"])
    assert {key: sorted(numbers) for key, numbers in by_key.items()} == by_key


@pytest.mark.parametrize(
    ("configs", "said"),
    [(SPLITTING, "autosplit.mode=paused"), ({"message.timestamp.type": "LogAppendTime"}, "LogAppendTime")],
)
def test_a_copy_into_a_topic_that_changes_its_records_is_refused_before_anything_is_written(
    broker: Broker, make_topic: MakeTopic, topic: str, tmp_path: Path, configs: dict[str, str], said: str
) -> None:
    source = make_topic(1)
    target = create_topic(broker, f"{topic}-target", 1, configs)
    produce_keyed(broker, source, range(20))
    job = CopyJob(tmp_path / "copy", broker, broker, source, name_there=target)
    checked = job.pipe("check")
    assert (checked.code, said in checked.out) == (1, True), checked.out
    with pytest.raises(TargetError, match=said):
        job.run_here()
    assert read_all(broker, target) == []


def test_messages_with_ids_that_are_deduplicated_land_and_are_copied_once(
    broker: Broker, start_broker: StartBroker, topic: str, tmp_path: Path
) -> None:
    ids = {"kawal.message.ids": "true", "kawal.ledger.max.entries": "3", "kawal.dedup": "seqno"}
    create_topic(broker, topic, 1, ids)
    other = start_broker()
    land = PipelineJob(tmp_path, broker, topic)
    ground = Ground(broker, tmp_path, "parquet", topic, land)
    copy = CopyJob(tmp_path / "copy", broker, other, topic)
    for numbers in (range(60), range(30, 100)):  # the first half of the second is dropped
        produce_keyed(broker, topic, numbers)
        land.run_here()
        copy.run_here()
    assert landed(land) == numbers_of(other, topic) == list(range(100))
    ground.must_be_equal(rows=100)
    copy.must_be_equal(100)


def test_a_view_lands_and_is_copied_as_it_is_shown(
    broker: Broker, start_broker: StartBroker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    source = make_topic(2, kawal_columns="n int")
    view = create_topic(
        broker, f"{source}-view", 2, {"kawal.sql": f"SELECT n FROM `{source}` WHERE n % 7 = 3"}
    )
    other = start_broker()
    land = PipelineJob(tmp_path, broker, view)
    ground = Ground(broker, tmp_path, "parquet", view, land)
    copy = CopyJob(tmp_path / "copy", broker, other, view)
    for numbers in (range(150), range(150, 300)):
        produce_numbers(broker, source, numbers)
        land.run_here()
        copy.run_here()
    wanted = [number for number in range(300) if number % 7 == 3]
    assert landed(land) == numbers_of(other, view) == wanted
    ground.must_be_equal(rows=len(wanted))
    copy.must_be_equal(len(wanted))


def test_a_topic_compacted_between_two_runs_and_after_them_is_told_from_loss(
    start_broker: StartBroker, topic: str, tmp_path: Path
) -> None:
    soon = {"log_cleaner_backoff_ms": "100", "log_retention_check_interval_ms": "200"}
    broker, other = start_broker(**soon), start_broker(**soon)
    small = {"min.cleanable.dirty.ratio": "0.001", "internal.segment.bytes": "4000"}
    create_topic(broker, topic, 1, {"cleanup.policy": "compact", **small})
    land = PipelineJob(tmp_path, broker, topic)
    ground = Ground(broker, tmp_path, "parquet", topic, land)
    copy = CopyJob(tmp_path / "copy", broker, other, topic)
    for numbers in (range(200), range(200, 400)):
        for at in numbers:
            produce_keyed(broker, topic, range(at, at + 1))
        land.run_here()
        copy.run_here()
        eventually(lambda: len(read_all(broker, topic)) < 150, waiting_for="the cleaner")
    assert set(landed(land)) >= set(numbers_of(broker, topic))
    found = ground.audited()
    assert found["equal"], found
    assert sum(each["removed"] for each in found["partitions"]) > 0, found
    assert copy.audited()["equal"]
