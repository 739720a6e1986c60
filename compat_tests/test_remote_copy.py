"""The copy in an object store, kept by a server under load and kills, and restores from the bucket alone."""

from __future__ import annotations

import subprocess
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from compat_tests.broker import HOST, free_port
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KAWAL, KawalBroker
from compat_tests.object_store import BUCKET, ObjectStore, object_store
from compat_tests.test_backup import kawal, values_of
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.writers import Writer

pytestmark = [
    pytest.mark.only_kawal(reason="Kafka's tier is a plugin, and restores nothing by itself"),
    pytest.mark.timeout(900),
]

LAG_MS = 300

ROUNDS_WITHIN_SECONDS = 300
"""A round takes less than a second, but SeaweedFS holds back for seconds what is written to one object at
once, as the server does to judge it."""


def settings(store: ObjectStore) -> dict[str, str]:
    """Return a server's settings for the store."""
    return {
        "kawal_segment_bytes": "1048576",
        "kawal_remote_store": f"s3://{BUCKET}/kawal",
        "kawal_remote_endpoint": store.endpoint,
        "kawal_remote_lag_ms": str(LAG_MS),
        "kawal_http_listen": f"{HOST}:{free_port()}",
    }


def restore(store: ObjectStore, data: Path) -> dict[str, int]:
    """Restore from the bucket alone."""
    words = ("restore", f"s3://{BUCKET}/kawal", "--endpoint", store.endpoint, "--data", str(data))
    found: dict[str, int] = kawal(*words)
    return found


def metric(broker: KawalBroker, name: str) -> float:
    """Return the value of a family without labels; -1 while there is none."""
    with urllib.request.urlopen(f"http://{broker.settings['kawal.http.listen']}/metrics", timeout=60) as page:
        lines = page.read().decode().splitlines()
    for line in lines:
        if line.startswith(f"{name} "):
            return float(line.split()[1])
    return -1.0


def wait_for_rounds(broker: KawalBroker, count: int) -> None:
    """Wait until so many more rounds have ended well, and no closed segment is missing."""
    before = metric(broker, "kawal_remote_rounds_total")
    eventually(
        lambda: (
            metric(broker, "kawal_remote_rounds_total") >= max(before, 0) + count
            and metric(broker, "kawal_remote_segments_missing") == 0
        ),
        waiting_for=f"{count} rounds of copying",
        within_seconds=ROUNDS_WITHIN_SECONDS,
    )


@pytest.mark.parametrize("is_seaweedfs", [False, True])
def test_what_was_acknowledged_two_rounds_ago_comes_back_from_the_bucket_alone(
    start_broker: StartBroker, tmp_path: Path, is_seaweedfs: bool
) -> None:
    with object_store(tmp_path / "store", is_seaweedfs=is_seaweedfs) as store:
        broker = start_broker(**settings(store))
        assert isinstance(broker, KawalBroker)
        create_topic(broker, "a", 1)
        with Writer(broker, "a") as writer:
            writer.wait_for_acks(20_000)
            broker.kill()
            broker.start()
            writer.wait_for_acks(20_000)
            promised = {offset: number for number, offset in dict(writer.acked).items()}
            commit_a_position(broker, 5_000)
            wait_for_rounds(broker, 2)
            broker.kill()
        restore(store, tmp_path / "restored" / "data")
        again = KawalBroker(tmp_path / "restored", {"kawal.http.listen": "none"})
        again.start()
        try:
            found = values_of(again, "a")
            assert {offset: found[offset] for offset in promised} == promised
            assert committed(again) == 5_000
        finally:
            again.stop()


def commit_a_position(broker: KawalBroker, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    consumer.commit(offsets=[TopicPartition("a", 0, offset)], asynchronous=False)
    consumer.close()


def committed(broker: KawalBroker) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    try:
        return int(consumer.committed([TopicPartition("a", 0)], timeout=60)[0].offset)
    finally:
        consumer.close()


def test_a_store_that_is_away_or_hangs_delays_no_answer_and_the_copy_goes_on_after_it(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    with object_store(tmp_path / "store", starts=False) as store:
        broker = start_broker(**settings(store))
        assert isinstance(broker, KawalBroker)
        create_topic(broker, "a", 1)
        with Writer(broker, "a") as writer:
            writer.wait_for_acks(20_000)
            assert metric(broker, "kawal_remote_rounds_total") <= 0
            store.restart()
            wait_for_rounds(broker, 2)
            promised = {offset: number for number, offset in dict(writer.acked).items()}
            store.pause()
            writer.wait_for_acks(5_000)
            store.resume()
            wait_for_rounds(broker, 2)
        restore(store, tmp_path / "restored" / "data")
        again = KawalBroker(tmp_path / "restored", {"kawal.http.listen": "none"})
        again.start()
        try:
            found = values_of(again, "a")
            assert {offset: found[offset] for offset in promised} == promised
        finally:
            again.stop()


def test_a_restored_server_takes_the_copy_over_and_the_old_one_stops(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    with object_store(tmp_path / "store") as store:
        broker = start_broker(**settings(store))
        assert isinstance(broker, KawalBroker)
        create_topic(broker, "a", 1)
        with Writer(broker, "a") as writer:
            writer.wait_for_acks(1_000)
        wait_for_rounds(broker, 2)
        restore(store, tmp_path / "restored" / "data")
        dotted = {key.replace("_", "."): value for key, value in settings(store).items()}
        again = KawalBroker(tmp_path / "restored", dotted)
        again.start()
        try:
            wait_for_rounds(again, 1)
            with Writer(broker, "a") as writer:
                writer.wait_for_acks(1_000)
            eventually(
                lambda: metric(broker, "kawal_remote_stopped") == 1,
                waiting_for="the old server's copy to stop",
            )
        finally:
            again.stop()


def test_without_a_copy_the_restore_says_what_to_give(tmp_path: Path) -> None:
    with object_store(tmp_path / "store") as store:
        words = (
            "restore",
            f"s3://{BUCKET}/nothing",
            "--endpoint",
            store.endpoint,
            "--data",
            str(tmp_path / "d"),
        )
        done = subprocess.run([KAWAL, *words], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert "no copy is there; give the prefix of kawal.remote.store" in done.stderr
        assert not (tmp_path / "d").exists()
