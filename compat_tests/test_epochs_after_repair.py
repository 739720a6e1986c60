"""Consumers that read before a loss go on after the repair: the leader epoch is a time in seconds then."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, take
from compat_tests.conftest import StartBroker
from compat_tests.java import java_command
from compat_tests.kawal_broker import KAWAL
from compat_tests.topics import create_topic

pytestmark = pytest.mark.only_kawal("the damage, and its repair, are those of Kawal's own files")

PATIENCE_SECONDS = 90
WRITTEN, NEW = 10, 5
EPOCH_MIN = 30_000_000
"""Seconds since 2025: an epoch of 2026 or later."""


@contextmanager
def java_reader(broker: Broker, topic: str, group: str, count: int) -> Iterator[subprocess.Popen[str]]:
    """Start Epochs.java in a group; it ends by itself after so many records."""
    source = str(Path(__file__).with_name("Epochs.java"))
    command = java_command(source, broker.bootstrap, topic, group, str(count))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as java:
        try:
            assert java.stdout is not None
            assert java.stdout.readline() == "ready\n"
            yield java
        finally:
            java.kill()


def ended(java: subprocess.Popen[str]) -> list[str]:
    """Wait for the end of a reader; return the lines that are left."""
    out, err = java.communicate(timeout=PATIENCE_SECONDS)
    assert java.returncode == 0, err
    return out.splitlines()


def lines_of(java: subprocess.Popen[str], count: int) -> list[str]:
    assert java.stdout is not None
    return [java.stdout.readline().strip() for _ in range(count)]


def lose(broker: Broker, *values: bytes) -> None:
    """Kill the server, damage the frames with these values, repair, and start it again."""
    broker.kill()
    data = broker.directory / "data"
    for value in values:
        (path,) = [path for path in data.rglob("*.wal") if value in path.read_bytes()]
        content = path.read_bytes()
        assert content.count(value) == 1
        path.write_bytes(content.replace(value, bytes(len(value))))
    repair = [KAWAL, "wal", "repair", str(data), "--accept-loss"]
    done = subprocess.run(repair, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert "are damaged" in done.stdout, done
    broker.start()


def written(broker: Broker, topic: str) -> None:
    """Make a topic with records, each in a frame of its own."""
    create_topic(broker, topic, 1, {})
    for number in range(WRITTEN):
        produce(make_producer(broker, linger_ms=0), topic, [b"<before %d>" % number])


def epoch_of(rows: list[str], offsets: range) -> str:
    """Return the epoch of all these rows, which must have these offsets."""
    assert [row.split()[0] for row in rows] == [str(offset) for offset in offsets]
    (epoch,) = {row.split()[1] for row in rows}
    assert int(epoch) > EPOCH_MIN
    return epoch


@pytest.mark.parametrize(("lost", "begins_at"), [((8, 9), 8), ((4,), 10)], ids=["the end", "the middle"])
def test_java_readers_go_on_after_a_loss_in_the_epoch_that_the_repair_began(
    start_broker: StartBroker, topic: str, lost: tuple[int, ...], begins_at: int
) -> None:
    broker = start_broker()
    written(broker, topic)
    with java_reader(broker, topic, "early", WRITTEN) as java:
        assert ended(java)[-1] == "committed 0"
    with java_reader(broker, topic, "steady", WRITTEN + NEW) as java:
        assert lines_of(java, WRITTEN) == [f"{offset} 0" for offset in range(WRITTEN)]
        lose(broker, *(b"<before %d>" % number for number in lost))
        values = [b"after %d" % number for number in range(NEW)]
        new = range(begins_at, begins_at + NEW)
        assert produce(make_producer(broker), topic, values) == list(new)
        *rows, committed = ended(java)
    epoch = epoch_of(rows, new)
    assert committed == f"committed {epoch}"
    # A group that was away meanwhile, with a position and an epoch of before.
    with java_reader(broker, topic, "early", NEW) as java:
        *rows, committed = ended(java)
    assert epoch_of(rows, new) == epoch
    assert committed == f"committed {epoch}"
    # The position with the large epoch is one to begin at.
    produce(make_producer(broker), topic, [b"more"])
    with java_reader(broker, topic, "steady", 1) as java:
        assert ended(java) == [f"{new.stop} {epoch}", f"committed {epoch}"]


def test_librdkafka_reads_on_after_a_loss(start_broker: StartBroker, topic: str) -> None:
    broker = start_broker()
    written(broker, topic)
    settings = {"auto_offset_reset": "earliest", "topic_metadata_refresh_interval_ms": 500}
    with open_consumer(broker, group_id="steady", **settings) as consumer:
        consumer.subscribe([topic])
        assert {message.leader_epoch() for message in take(consumer, WRITTEN)} == {0}
        lose(broker, b"<before 8>", b"<before 9>")
        produce(make_producer(broker), topic, [b"after %d" % number for number in range(NEW)])
        found: dict[int, int | None] = {}
        while len(found) < NEW:
            (message,) = take(consumer, 1)
            if message.value().startswith(b"after"):
                found[message.offset()] = message.leader_epoch()
        assert list(found) == list(range(8, 8 + NEW))
        (epoch,) = set(found.values())
        assert epoch is not None
        assert epoch > EPOCH_MIN
        consumer.commit(asynchronous=False)
    produce(make_producer(broker), topic, [b"more"])
    with open_consumer(broker, group_id="steady", **settings) as consumer:
        consumer.subscribe([topic])
        (message,) = take(consumer, 1)
    assert (message.offset(), message.leader_epoch()) == (8 + NEW, epoch)
