"""`kawal restore --at` from a bucket: all that was there at that moment, and nothing that came after it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from compat_tests.confluent import make_producer
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.object_store import BUCKET, ObjectStore, object_store
from compat_tests.test_backup import kawal
from compat_tests.test_remote_copy import metric, settings, wait_for_rounds
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

pytestmark = [
    pytest.mark.only_kawal(reason="Kafka restores nothing by itself"),
    pytest.mark.timeout(900),
]

COUNT = 3_000
State = dict[str, list[tuple[int, int, bytes | None, bytes | None, Any, int]]]


def produce(broker: KawalBroker, topic: str, first: int) -> None:
    """Write numbered records with keys, headers and times into two partitions, some of them aborted."""
    producer = make_producer(broker, **{"transactional.id": topic})
    producer.init_transactions(60)
    for commits in (True, False, True):
        producer.begin_transaction()
        for number in range(first, first + COUNT // 3):
            headers = [("n", b"%d" % number)]
            producer.produce(topic, b"%d" % number * 40, b"k%d" % (number % 7), number % 2, headers=headers)
        if commits:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)


def commit(broker: KawalBroker, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def committed(broker: KawalBroker, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    try:
        return int(consumer.committed([TopicPartition(topic, 0)], timeout=60)[0].offset)
    finally:
        consumer.close()


def everything(broker: KawalBroker, topics: list[str]) -> State:
    """Return all committed records of topics, in order, with all that they have."""
    return {f"{topic}-{index}": records(broker, topic, index) for topic in topics for index in (0, 1)}


def records(
    broker: KawalBroker, topic: str, index: int
) -> list[tuple[int, int, bytes | None, bytes | None, Any, int]]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "none",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0)])
    found, at_end = list[Any](), False
    try:
        for _ in range(600):
            for message in consumer.consume(5_000, timeout=1.0):
                if message.error() is not None:
                    at_end = True
                    continue
                found.append(
                    (
                        message.partition(), message.offset(), message.key(), message.value(),
                        message.headers(), message.timestamp()[1],
                    )
                )  # fmt: skip
            if at_end:
                return found
    finally:
        consumer.close()
    raise AssertionError(f"{topic}-{index} was not read to its end")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def restored(store: ObjectStore, folder: Path, *words: str) -> KawalBroker:
    """Return a server, started on what a restore has made."""
    copy = f"s3://{BUCKET}/kawal"
    kawal("restore", copy, "--endpoint", store.endpoint, "--data", str(folder / "data"), *words)
    broker = KawalBroker(folder, {"kawal.http.listen": "none"})
    broker.start()
    return broker


def test_a_past_moment_comes_back_whole_and_so_does_the_newest(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    with object_store(tmp_path / "store") as store:
        broker = start_broker(**settings(store), kawal_remote_history_ms="3600000")
        assert isinstance(broker, KawalBroker)
        create_topic(broker, "a", 2)
        produce(broker, "a", 0)
        commit(broker, "a", 1_000)
        wait_for_rounds(broker, 2)
        # A past cut is kept once a minute: the next one has all of this.
        kept = metric(broker, "kawal_remote_past_cuts")
        commit(broker, "a", 1_001)
        before = everything(broker, ["a"])

        def is_kept() -> bool:
            commit(broker, "a", 1_001)  # a cut that is as the one before is not made
            return metric(broker, "kawal_remote_past_cuts") > kept

        eventually(
            is_kept,
            waiting_for="a past cut",
            within_seconds=180,
        )
        moment = now()
        create_topic(broker, "b", 2)
        produce(broker, "b", 0)
        produce(broker, "a", COUNT)
        commit(broker, "a", 2_500)
        after = everything(broker, ["a", "b"])
        wait_for_rounds(broker, 2)
        broker.kill()

        past = restored(store, tmp_path / "past", "--at", moment)
        try:
            assert everything(past, ["a"]) == before
            assert committed(past, "a") == 1_001
            admin = AdminClient({"bootstrap.servers": past.bootstrap})
            assert not {"b"} & admin.list_topics(timeout=60).topics.keys()
            produce(past, "a", 7)
            assert len(everything(past, ["a"])["a-0"]) > len(before["a-0"])
        finally:
            past.stop()
        newest = restored(store, tmp_path / "newest")
        try:
            assert everything(newest, ["a", "b"]) == after
            assert committed(newest, "a") == 2_500
        finally:
            newest.stop()


def test_a_moment_before_the_first_that_is_kept_is_refused(start_broker: StartBroker, tmp_path: Path) -> None:
    with object_store(tmp_path / "store") as store:
        moment = now()
        broker = start_broker(**settings(store), kawal_remote_history_ms="3600000")
        assert isinstance(broker, KawalBroker)
        create_topic(broker, "a", 1)
        wait_for_rounds(broker, 2)
        with pytest.raises(AssertionError, match="or before is kept, the oldest one is of"):
            restored(store, tmp_path / "past", "--at", moment)
        assert not (tmp_path / "past" / "data").exists()
