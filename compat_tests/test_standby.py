"""`kawal standby` takes a server's place: stock clients go on, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from compat_tests.broker import HOST, free_port
from compat_tests.kawal_broker import KAWAL, KawalBroker
from compat_tests.object_store import BUCKET, KEYS, ObjectStore, object_store
from compat_tests.process import ServerProcess
from compat_tests.test_remote_copy import ROUNDS_WITHIN_SECONDS, settings
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.worker_history import TRANSACTIONS, TransactionHistory
from compat_tests.worker_history import Writer as BusyWriter
from compat_tests.worker_history import read_all as read_committed

pytestmark = [
    pytest.mark.only_kawal(reason="Kafka keeps copies of its own, on other brokers"),
    pytest.mark.timeout(900),
]

HEARTBEAT_MS = "500"
Record = tuple[int, int, bytes]


class Writer:
    """An idempotent producer of numbered records, and what was acknowledged to it."""

    def __init__(self, bootstrap: str) -> None:
        self.acknowledged: list[Record] = []
        self.failed: list[KafkaError] = []
        self._number = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "delivery.timeout.ms": 300_000,
                # A server that is paused answers nothing, and closes nothing either.
                "socket.timeout.ms": 5_000,
                "request.timeout.ms": 5_000,
            }
        )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
            return
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert value is not None
        self.acknowledged.append((partition, offset, value))

    def write(self, more: int, within_seconds: float = 240) -> None:
        """Go on until so many more records were acknowledged."""
        wanted = len(self.acknowledged) + more

        def wrote() -> bool:
            for _ in range(50):
                self._producer.produce(
                    "t", b"%d" % self._number, b"k%d" % self._number, callback=self._delivered
                )
                self._number += 1
            self._producer.poll(0.01)
            return len(self.acknowledged) >= wanted

        eventually(wrote, waiting_for=f"{more} more records", within_seconds=within_seconds)

    def finish(self) -> None:
        """Wait for all that is on its way."""
        assert self._producer.flush(240) == 0
        assert self.failed == []


def read_all(bootstrap: str, count: int) -> list[Record]:
    """Return the records of both partitions, until there are `count`."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    found: list[Record] = []

    def read() -> bool:
        for message in consumer.consume(5_000, timeout=1.0):
            assert message.error() is None, message.error()
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None
            assert offset is not None
            assert value is not None
            found.append((partition, offset, value))
        return len(found) >= count

    try:
        eventually(read, waiting_for=f"{count} records", within_seconds=120)
    finally:
        consumer.close()
    return found


@contextmanager
def standby(folder: Path, broker: KawalBroker, port: int) -> Iterator[ServerProcess]:
    """Run a standby of a server, with its settings, for a port of its own."""
    sets = [word for key, value in broker.settings.items() for word in ("--set", f"{key}={value}")]
    process = ServerProcess(
        [str(KAWAL), "standby", "--data", str(folder / "data"), "--listen", f"{HOST}:{port}", *sets],
        log_path=folder / "standby.log",
        environment={**KEYS},
    )
    try:
        yield process
    finally:
        process.kill()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """Run one store for all tests."""
    with object_store(tmp_path_factory.mktemp("store") / "store") as found:
        yield found


def settings_of(store: ObjectStore, prefix: str) -> dict[str, str]:
    return {
        **{name.replace("_", "."): value for name, value in settings(store).items()},
        "kawal.remote.store": f"s3://{BUCKET}/{prefix}",
        "kawal.durability": "remote",
        "kawal.remote.heartbeat.ms": HEARTBEAT_MS,
        "kawal.http.listen": "none",
    }


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_clients_go_on_with_the_standby_and_all_that_was_acknowledged_is_there(
    how: signal.Signals, store: ObjectStore, tmp_path: Path
) -> None:
    (tmp_path / "standby").mkdir()
    broker, port = KawalBroker(tmp_path / "first", settings_of(store, how.name.lower())), free_port()
    broker.start()
    writer = Writer(f"{broker.bootstrap},{HOST}:{port}")
    try:
        writer.write(1_000, within_seconds=ROUNDS_WITHIN_SECONDS)
        create_topic(broker, TRANSACTIONS, 2)
        both: Any = SimpleNamespace(bootstrap=f"{broker.bootstrap},{HOST}:{port}")
        transactions = TransactionHistory(
            both, "writer", 2, transaction_timeout_ms=300_000, socket_timeout_ms=5_000
        )
        thread = BusyWriter(transactions.write)
        with standby(tmp_path / "standby", broker, port) as second:
            eventually(lambda: "follows" in second.tail(), waiting_for="the standby", within_seconds=150)
            writer.write(3_000)
            os.kill(broker.process.pid, how)
            writer.write(3_000)
            if how is signal.SIGSTOP:
                os.kill(broker.process.pid, signal.SIGCONT)
                assert "has taken over" in end_of(broker) or "another process" in end_of(broker)
            else:
                broker.start()
                assert "another server" in end_of(broker)
            writer.write(1_000)
            writer.finish()
            committed = len(transactions.committed)
            eventually(
                lambda: len(transactions.committed) > committed + 3,
                waiting_for="transactions",
                within_seconds=120,
            )
            thread.stop()
            transactions.check(read_committed(both, TRANSACTIONS, 2))
            found = read_all(f"{HOST}:{port}", len(writer.acknowledged))
            assert sorted(found) == sorted(writer.acknowledged)
            assert len({value for _, _, value in found}) == len(found)
    finally:
        broker.kill()


def end_of(broker: KawalBroker) -> str:
    """Wait until the old server ends, as it was replaced, and return what it said."""
    eventually(
        lambda: broker.process.exit_code is not None,
        waiting_for="the end of the old server",
        within_seconds=60,
    )
    assert broker.process.exit_code == 1
    return broker.process.tail()
