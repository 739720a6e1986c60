"""Workers with a store: all they acknowledged comes back from the bucket, and each reads its old records."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.confluent import make_producer
from compat_tests.groups import committed_of
from compat_tests.kawal_broker import KAWAL
from compat_tests.object_store import BUCKET, ObjectStore, object_store
from compat_tests.test_backup import kawal
from compat_tests.test_tiered_topics import value_of
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.worker_history import (
    PLAIN,
    TRANSACTIONS,
    PlainHistory,
    ProgressHistory,
    TransactionHistory,
    Writer,
    read_all,
)
from compat_tests.workers import WorkersBroker

pytestmark = [
    pytest.mark.only_kawal(reason="Apache Kafka has no workers"),
    pytest.mark.timeout(900),
]

PARTITIONS = 4
KILLS = 2
ACKS = 1_500
"""What is acknowledged before each kill."""
OLD_RECORDS = 12_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """Run one store for all tests."""
    with object_store(tmp_path_factory.mktemp("store") / "store") as running:
        yield running


def place(store: ObjectStore, name: str, **more: str) -> dict[str, str]:
    """Return the settings of a store; `name` is the server's prefix in the bucket."""
    return {
        "kawal.remote.store": f"s3://{BUCKET}/{name}",
        "kawal.remote.endpoint": store.endpoint,
        "kawal.remote.lag.ms": "300",
        "kawal.segment.bytes": "1048576",
        "group.initial.rebalance.delay.ms": "0",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def restore(store: ObjectStore, name: str, data: Path) -> int:
    """Restore from the bucket alone; return the number of workers whose copies were read."""
    made = kawal("restore", f"s3://{BUCKET}/{name}", "--endpoint", store.endpoint, "--data", str(data))
    return int(made["workers"])


def refusal(data: Path, workers: int, settings: dict[str, str]) -> str:
    """Start a server that is to refuse its directory or its store, and return what it says."""
    words = [KAWAL, "serve", "--listen", "127.0.0.1:0", "--http", "none", "--data", str(data)]
    words += ["--workers", str(workers), "--set", "kawal.console.listeners=none"]
    words += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr


def copies(settings: dict[str, str]) -> list[tuple[int, str, int]]:
    """Return number, state and missing segments of each worker's copy, as the store alone tells."""
    words = [KAWAL, "cluster", "copies", "--json", "--workers", "2"]
    words += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [(row["node"], row["state"], row["segments_missing"]) for row in json.loads(done.stdout)]


def kill_all(broker: WorkersBroker) -> None:
    """End the server by SIGKILL, and wait until none of its processes runs any more."""
    pids = broker.children()
    broker.kill()
    eventually(lambda: not any(map(runs, pids)), waiting_for="the end of all workers")


def runs(pid: int) -> bool:
    """Whether a process runs; one that has ended may still be listed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class History:
    """All that clients have been told while they wrote, committed and ended transactions."""

    def __init__(self, broker: WorkersBroker) -> None:
        for topic in (PLAIN, TRANSACTIONS):
            create_topic(broker, topic, PARTITIONS)
        self.plain = PlainHistory(broker, PARTITIONS)
        self.transactions = TransactionHistory(broker, "tx", PARTITIONS)
        self.progress = ProgressHistory(broker, "g", PLAIN, PARTITIONS)
        self._writers = [Writer(history.write) for history in (self.plain, self.transactions, self.progress)]

    def wait(self) -> None:
        """Wait until more of each was acknowledged."""
        acked, ended, tried = self._counts()

        def has_grown() -> bool:
            now = self._counts()
            assert not any(writer.failure for writer in self._writers)
            return now[0] >= acked + ACKS and now[1] >= ended + 10 and now[2] > tried

        eventually(has_grown, waiting_for="records, transactions and commits", within_seconds=120)

    def _counts(self) -> tuple[int, int, int]:
        return len(self.plain.acknowledged), len(self.transactions.committed), self.progress.committed

    def stop(self) -> None:
        """End the clients, once all that was sent is acknowledged."""
        for writer in self._writers:
            writer.stop()
        self.plain.finish()

    def check(self, broker: WorkersBroker) -> None:
        """Compare what a server has with what was acknowledged."""
        self.plain.check(read_all(broker, PLAIN, PARTITIONS))
        self.transactions.check(read_all(broker, TRANSACTIONS, PARTITIONS))
        self.progress.check(committed_of(broker, "g", PLAIN))


def test_all_that_workers_acknowledged_comes_back_from_the_bucket_after_kills_under_load(
    store: ObjectStore, tmp_path: Path
) -> None:
    """The disk is lost with each kill of all processes; the clients go on beyond it, and see none of it."""
    settings = place(store, "kills", kawal_durability="remote")
    broker = WorkersBroker(tmp_path / "first", 2, **settings)
    broker.start()
    history = History(broker)
    try:
        for _ in range(KILLS):
            history.wait()
            kill_all(broker)
            shutil.rmtree(broker.directory / "data")
            assert restore(store, "kills", broker.directory / "data") == 2
            broker.start()
        history.wait()
        assert copies(settings) == [(0, "no signs", 0), (1, "no signs", 0)]
        (_, second) = broker.children()
        broker.kill_worker(second, 1)
        history.wait()
        history.stop()
        history.check(broker)
        assert " CRITICAL " not in broker.process.output()
    finally:
        broker.kill()

    other = tmp_path / "other"
    assert restore(store, "kills", other / "data") == 2
    said = refusal(other / "data", 3, settings)
    assert "is a copy by 2 workers, and this server has 3 workers (kawal.workers)" in said
    assert "start with --workers 2, or give kawal.remote.store another place" in said
    third = WorkersBroker(other, 3, **place(store, "three", kawal_durability="remote"))
    third.start()
    try:
        history.check(third)
    finally:
        assert third.stop()[0] == 0


def test_a_server_whose_places_another_one_has_taken_ends_as_a_whole(
    store: ObjectStore, tmp_path: Path
) -> None:
    """Were its workers started again, they and those of the other server would end each other in turn."""
    settings = place(store, "two", kawal_durability="remote")
    first = WorkersBroker(tmp_path / "first", 2, **settings)
    first.start()
    second = WorkersBroker(tmp_path / "second", 2, **settings)
    try:
        create_topic(first, PLAIN, PARTITIONS)
        history = PlainHistory(first, PARTITIONS)
        history.write()
        history.finish()
        processes = [first.process.pid, *first.children()]
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        assert restore(store, "two", tmp_path / "second" / "data") == 2
        second.start()
        for pid in processes:
            os.kill(pid, signal.SIGCONT)
        refused: list[bool] = []
        late = make_producer(first, message_timeout_ms=10_000)
        for partition in range(PARTITIONS):
            late.produce(
                PLAIN,
                b"-1",
                partition=partition,
                on_delivery=lambda error, _: refused.append(error is not None),
            )
        assert late.flush(60) == 0
        assert refused == [True] * PARTITIONS, "a server that was replaced has acknowledged a record"
        eventually(lambda: first.process.exit_code is not None, waiting_for="the end of the first server")
        assert first.process.exit_code == 1
        assert "can acknowledge nothing more: the server ends" in first.process.output()
        assert "it is started again" not in first.process.output()
        history.check(read_all(second, PLAIN, PARTITIONS))
    finally:
        first.kill()
        second.kill()


def write_old(broker: WorkersBroker, partition: int) -> None:
    """Write numbered records to a partition, 1 KB each."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "acks": "all"})
    for number in range(OLD_RECORDS):
        producer.produce("old", value_of(number), partition=partition)
        if not number % 1_000:
            assert producer.flush(60) == 0, "so that no frame is much larger than a segment"
    assert producer.flush(60) == 0


def read_old(broker: WorkersBroker, partition: int) -> list[bytes]:
    """Read a partition from its beginning, in order."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "none", "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition("old", partition, 0)])
    found: list[bytes] = []
    try:
        for _ in range(500):
            for message in consumer.consume(5_000, timeout=1.0):
                if message.error() is None:
                    assert message.offset() == len(found), "no gap, and nothing twice"
                    found.append(message.value())
            if len(found) >= OLD_RECORDS:
                return found
    finally:
        consumer.close()
    return found


def away(data: Path, vnode: int) -> int:
    """Return the number of segments of a log that are in the store alone."""
    return sum(1 for _ in (data / "default" / f"vnode-{vnode}").glob("*.remote"))


def test_old_records_in_the_store_alone_are_read_through_each_worker_and_keep_their_number(
    store: ObjectStore, tmp_path: Path
) -> None:
    settings = place(store, "tiered", kawal_vnodes="2", log_segment_delete_delay_ms="100")
    broker = WorkersBroker(tmp_path, 2, **settings)
    data = broker.directory / "data"
    expected = [value_of(number) for number in range(OLD_RECORDS)]
    broker.start()
    try:
        create_topic(broker, "old", 2, {"remote.storage.enable": "true", "local.retention.bytes": "1048576"})
        for partition in range(2):
            write_old(broker, partition)
        eventually(
            lambda: min(away(data, 0), away(data, 1)) >= 4,
            waiting_for="segments of both workers to leave the disk",
            within_seconds=120,
        )
        assert [read_old(broker, partition) == expected for partition in range(2)] == [True, True]
        kill_all(broker)
        for count in (1, 3):
            said = refusal(data, count, settings)
            assert "segments are in the object store alone, where 2 workers put them" in said
            assert "start with --workers 2" in said
        broker.start()
        assert [read_old(broker, partition) == expected for partition in range(2)] == [True, True]
    finally:
        broker.kill()
    restored = tmp_path / "restored"
    assert restore(store, "tiered", restored / "data") == 2
    assert not list(restored.rglob("*.remote"))
    whole = WorkersBroker(restored, 3, **{"kawal.vnodes": "2"})
    whole.start()
    try:
        assert [read_old(whole, partition) == expected for partition in range(2)] == [True, True]
    finally:
        whole.kill()


def test_a_standby_of_workers_is_refused_with_a_sentence(store: ObjectStore, tmp_path: Path) -> None:
    settings = place(store, "kills", kawal_remote_heartbeat_ms="1000")
    said = refusal(tmp_path / "new", 2, settings)
    assert "kawal.remote.heartbeat.ms cannot be set with several workers: a standby follows one" in said
    assert not (tmp_path / "new").exists()
