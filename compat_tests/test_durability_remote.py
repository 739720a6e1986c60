"""Durability `remote`: what was acknowledged comes back from the object store alone, to the last record."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from compat_tests.confluent import make_producer
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.object_store import BUCKET, ObjectStore, object_store
from compat_tests.test_backup import kawal, values_of
from compat_tests.test_remote_copy import metric, settings, wait_for_rounds
from compat_tests.test_transactions import read
from compat_tests.topics import create_topic
from compat_tests.transactional_writers import TransactionalWriter
from compat_tests.waiting import eventually
from compat_tests.writers import Writer

pytestmark = [
    pytest.mark.only_kawal(reason="Kafka acknowledges nothing by an object store"),
    pytest.mark.timeout(900),
]

SEED = 7
KILLS = 2
PARTITIONS = 2
"""Of the topic of transactions; they lie on different vnodes."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """Run one store for all tests."""
    with object_store(tmp_path_factory.mktemp("store") / "store") as running:
        yield running


def remote_settings(store: ObjectStore, name: str) -> dict[str, str]:
    """Return a server's settings; `name` is its prefix in the bucket."""
    return {
        **settings(store),
        "kawal_remote_store": f"s3://{BUCKET}/{name}",
        "kawal_durability": "remote",
        "group_initial_rebalance_delay_ms": "0",
    }


def restore(store: ObjectStore, name: str, data: Path) -> int:
    """Restore from the bucket alone; return the bytes that came from the journal."""
    made = kawal("restore", f"s3://{BUCKET}/{name}", "--endpoint", store.endpoint, "--data", str(data))
    return int(made["journal_bytes"])


class Reader:
    """A member of a group that reads a partition in a thread, and commits after each piece."""

    def __init__(self, broker: KawalBroker, group: str, topic: str) -> None:
        self._settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 2,
        }
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.committed = 0
        """The newest offset whose commit was acknowledged."""

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Begin no further commit, and wait until the member is gone."""
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the reader did not end"

    def wait_for_commit(self) -> None:
        """Wait until a commit was acknowledged."""
        eventually(lambda: self.committed, waiting_for="a commit of the group")

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe([self._topic])
        while not self._stop.is_set():
            found = [message for message in consumer.consume(500, timeout=0.2) if message.error() is None]
            if found:
                self._commit(consumer, found[-1].offset() + 1)
        consumer.close()

    def _commit(self, consumer: Consumer, offset: int) -> None:
        try:
            done = consumer.commit(offsets=[TopicPartition(self._topic, 0, offset)], asynchronous=False)
        except KafkaException:
            return  # the server was killed, or the group is being divided anew
        if done[0].error is None:
            self.committed = offset


def committed(broker: KawalBroker, group: str, topic: str) -> int:
    """Return the offset that a group has committed."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    try:
        return int(consumer.committed([TopicPartition(topic, 0)], timeout=60)[0].offset)
    finally:
        consumer.close()


def test_all_that_was_acknowledged_comes_back_from_the_bucket_after_kills_under_load(
    start_broker: StartBroker, store: ObjectStore, tmp_path: Path
) -> None:
    """The disk is lost with each kill; the producers go on beyond it, and see none of it."""
    chance = Random(SEED)
    broker: Any = start_broker(**remote_settings(store, "kills"))
    wait_for_rounds(broker, 1)
    create_topic(broker, "a", 1)
    create_topic(broker, "tx", PARTITIONS)
    with Writer(broker, "a", enable_idempotence=True) as writer, TransactionalWriter(broker, "tx", 2) as tx:
        for number in range(KILLS):
            reader = Reader(broker, f"g{number}", "a")
            reader.start()
            writer.wait_for_acks(chance.randrange(500, 8_000))
            tx.wait_for_commits(chance.randrange(2, 20))
            reader.wait_for_commit()
            broker.kill()
            shutil.rmtree(broker.directory / "data")
            assert restore(store, "kills", tmp_path / f"looked-at-{number}" / "data") > 0
            look(tmp_path / f"looked-at-{number}", writer, tx, reader, f"g{number}")
            restore(store, "kills", broker.directory / "data")
            broker.start()
            wait_for_rounds(broker, 1)
            reader.stop()
        writer.wait_for_acks(500)
        tx.wait_for_commits(2)
    assert not writer.errors
    found = values_of(broker, "a")
    assert list(found.values()) == list(range(writer.sent)), "each record once, in order"
    assert {number: found[offset] for number, offset in writer.acked.items()} == {
        number: number for number in writer.acked
    }
    seen = [list(map(int, values)) for values in read(broker, "tx", PARTITIONS)]
    assert seen[0] == seen[1] == sorted(set(seen[0])), "each transaction whole, once, in order"
    assert set(tx.committed) <= set(seen[0])
    assert not tx.aborted & set(seen[0])
    assert " CRITICAL " not in broker.process.output()


def look(directory: Path, writer: Writer, tx: TransactionalWriter, reader: Reader, group: str) -> None:
    """Compare a restored directory, on a server of its own, with what was acknowledged."""
    records, transactions, offset = dict(writer.acked), set(tx.committed), reader.committed
    looked_at = KawalBroker(directory, {"kawal.http.listen": "none"})
    looked_at.start()
    try:
        found = values_of(looked_at, "a")
        lost = {number: place for number, place in records.items() if found.get(place) != number}
        assert not lost, f"{len(lost)} of {len(records)} acknowledged records"
        assert committed(looked_at, group, "a") >= offset > 0
        eventually(
            lambda: all(transactions <= set(map(int, values)) for values in read(looked_at, "tx", 2)),
            waiting_for="every transaction that was committed",
        )
    finally:
        looked_at.kill()


def test_a_server_that_stood_still_while_another_was_restored_acknowledges_nothing_more(
    start_broker: StartBroker, store: ObjectStore, tmp_path: Path
) -> None:
    broker: Any = start_broker(**remote_settings(store, "two"))
    wait_for_rounds(broker, 1)
    create_topic(broker, "a", 1)
    with Writer(broker, "a", message_timeout_ms=10_000) as writer:
        writer.wait_for_acks(1_000)
        os.kill(broker.process.pid, signal.SIGSTOP)
        restore(store, "two", tmp_path / "second" / "data")
        dotted = {key.replace("_", "."): value for key, value in remote_settings(store, "two").items()}
        second = KawalBroker(tmp_path / "second", dotted)
        second.start()
        try:
            with Writer(second, "a") as beside:
                beside.wait_for_acks(500)
                os.kill(broker.process.pid, signal.SIGCONT)
                errors: list[Any] = []
                producer = make_producer(broker, message_timeout_ms=10_000)
                producer.produce("a", b"-1", on_delivery=lambda error, _: errors.append(error))
                producer.flush(30)
                assert errors, "no answer"
                assert errors[0] is not None, "a server that was replaced has acknowledged a record"
                beside.wait_for_acks(500)
            found = values_of(second, "a")
            # What was in the store when the first one stood still may be acknowledged once it goes on.
            acked = dict(writer.acked)
            assert {n: found[place] for n, place in acked.items()} == {n: n for n in acked}
            assert {n: found[place] for n, place in beside.acked.items()} == {n: n for n in beside.acked}
            assert "take nothing more until the next start" in broker.process.output()
        finally:
            second.stop()
            broker.kill()


def test_a_store_that_is_killed_under_load_loses_nothing_acknowledged_and_service_goes_on(
    start_broker: StartBroker, store: ObjectStore, tmp_path: Path
) -> None:
    broker: Any = start_broker(**remote_settings(store, "away"))
    wait_for_rounds(broker, 1)
    create_topic(broker, "a", 1)
    with Writer(broker, "a", enable_idempotence=True, message_timeout_ms=300_000) as writer:
        writer.wait_for_acks(1_000)
        store.kill()
        acked = len(writer.acked)
        eventually(
            lambda: metric(broker, "kawal_remote_journal_failures_total") > 0, waiting_for="a failed request"
        )
        assert len(writer.acked) - acked < writer.sent - acked, "what waits for the store is not acknowledged"
        store.restart()
        writer.wait_for_acks(1_000)
    broker.kill()
    assert not writer.errors
    restore(store, "away", tmp_path / "restored" / "data")
    again = KawalBroker(tmp_path / "restored", {"kawal.http.listen": "none"})
    again.start()
    try:
        found = values_of(again, "a")
        assert list(found.values()) == list(range(writer.sent))
        assert {number: found[offset] for number, offset in writer.acked.items()} == {
            number: number for number in writer.acked
        }
    finally:
        again.stop()
