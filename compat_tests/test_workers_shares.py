"""Share groups on gateways of several workers, with stock clients: confluent-kafka's and Kafka's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, KafkaException

from compat_tests.confluent import make_producer, produce
from compat_tests.groups import fill
from compat_tests.java import java_command
from compat_tests.kawal_broker import KAWAL
from compat_tests.test_share_groups import configure, earliest, groups, poll, share_consumer
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.worker_history import PLAIN, Place, PlainHistory, Writer, read_all
from compat_tests.workers import WorkersBroker

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no workers")

PARTITIONS = 6
SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.record.lock.duration.ms": "1000",
}
HANG_SECONDS = 8
"""Longer than a worker waits for another to store a state."""
PROGRAM = str(Path(__file__).with_name("Shares.java"))


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersBroker]:
    """Start a gateway for the tests that kill nothing."""
    broker = WorkersBroker(tmp_path_factory.mktemp("workers"), 3, **SETTINGS)
    broker.start()
    yield broker
    assert broker.stop()[0] == 0
    assert "ended with" not in broker.process.output()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[WorkersBroker]:
    """Start a gateway for the test that kills its workers."""
    broker = WorkersBroker(tmp_path, 3, **SETTINGS)
    broker.start()
    yield broker
    broker.kill()


def expected(count: int) -> set[bytes]:
    """Return the values of so many records in each partition, as `fill` writes them."""
    return {b"%d:%d" % (index, number) for index in range(PARTITIONS) for number in range(count)}


@pytest.mark.parametrize("number", range(6))
def test_two_members_share_the_records_of_all_workers_and_what_they_accept_is_done(
    workers: WorkersBroker, topic: str, number: int
) -> None:
    # Groups of six names have different coordinators, and their states other stores.
    topic = f"{topic}-{number}"
    create_topic(workers, topic, PARTITIONS)
    earliest(workers, topic)
    fill(workers, topic, PARTITIONS, 5)
    found: list[Any] = []
    with (
        share_consumer(workers.at(number % 3), topic, topic) as one,
        share_consumer(workers, topic, topic) as two,
    ):

        def all_came() -> bool:
            for consumer in (one, two):
                for message in consumer.poll(0.3):
                    assert message.error() is None, message.error()
                    found.append(message.value())
            return len(found) >= 5 * PARTITIONS

        eventually(all_came, waiting_for="all records")
        for consumer in (one, two):
            consumer.commit_sync()
    assert sorted(found) == sorted(expected(5))
    produce(make_producer(workers), topic, [b"more"])
    with share_consumer(workers, topic, topic) as consumer:
        assert [message.value() for message in poll(consumer, 1)] == [b"more"]


def test_kawals_own_command_shows_and_changes_the_records_of_all_workers(
    workers: WorkersBroker, topic: str
) -> None:
    create_topic(workers, topic, PARTITIONS)
    earliest(workers, topic)
    fill(workers, topic, PARTITIONS, 4)
    everywhere = range(PARTITIONS)
    with share_consumer(workers, topic, topic) as consumer:
        poll(consumer, 4 * PARTITIONS)
        consumer.commit_sync()
        fill(workers, topic, PARTITIONS, 3)
        for seen in workers.each():
            (described,) = queues(seen, "describe", topic)
            rows = {row["partition"]: row for row in described["partitions"]}
            assert [(rows[index]["start"], rows[index]["error"]) for index in everywhere] == [
                (4, None)
            ] * PARTITIONS
            assert [rows[index]["end"] for index in everywhere] == [7] * PARTITIONS
            (listed,) = (row for row in queues(seen, "list") if row["group"] == topic)
            assert (listed["backlog"], listed["members"]) == (3 * PARTITIONS, 1)
        assert {row["partition"] for row in queues(workers, "release", topic)} == set(everywhere)
    purged = queues(workers.at(1), "purge", topic, "--yes")
    assert {row["partition"]: row["records"] for row in purged} == dict.fromkeys(everywhere, 3)
    (described,) = queues(workers.at(2), "describe", topic)
    assert [row["backlog"] for row in described["partitions"]] == [0] * PARTITIONS


def queues(broker: WorkersBroker, action: str, *words: str) -> Any:
    """Return what `kawal queues` prints."""
    command = [KAWAL, "queues", action, *words, "--json", "--bootstrap", broker.bootstrap]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_kafkas_tool_describes_resets_and_deletes_a_group_with_partitions_of_all_workers(
    workers: WorkersBroker, topic: str
) -> None:
    create_topic(workers, topic, PARTITIONS)
    earliest(workers, topic)
    fill(workers, topic, PARTITIONS, 4)
    with share_consumer(workers, topic, topic) as consumer:
        poll(consumer, 4 * PARTITIONS)
        consumer.commit_sync()

    def lags() -> list[str]:
        head, *rows = groups(workers, "--describe", "--group", topic)
        return [dict(zip(head, row, strict=True))["LAG"] for row in rows]

    eventually(lambda: lags() == ["0"] * PARTITIONS, waiting_for="the group to have finished")
    groups(workers, "--reset-offsets", "--group", topic, "--topic", topic, "--to-earliest", "--execute")
    assert lags() == ["4"] * PARTITIONS
    with share_consumer(workers, topic, topic) as consumer:
        assert {message.value() for message in poll(consumer, 4 * PARTITIONS)} == expected(4)
        consumer.commit_sync()
    groups(workers, "--delete-offsets", "--group", topic, "--topic", topic)
    groups(workers, "--delete", "--group", topic)
    assert [topic] not in groups(workers, "--list")


def test_the_java_client_accepts_releases_and_rejects(workers: WorkersBroker, topic: str) -> None:
    create_topic(workers, topic, PARTITIONS)
    configure(workers, topic, share_auto_offset_reset="earliest")
    command = java_command(PROGRAM, workers.bootstrap, "explicit", topic)
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert done.stdout.splitlines()[-2:] == ["committed: done", "left: "]


class Consumption:
    """Two members that accept what comes to them, and what they know of it."""

    def __init__(self, broker: WorkersBroker) -> None:
        self._broker = broker
        self.delivered: set[Place] = set()
        self.accepted: set[Place] = set()
        """Those whose acceptance was acknowledged."""
        self.unsure: set[Place] = set()

    def consume(self, consumer: Any) -> None:
        """Accept some records, and note the outcome."""
        messages = [message for message in consumer.poll(0.2) if message.error() is None]
        if not messages:
            return
        places = {(message.partition(), message.offset()) for message in messages}
        again = places & self.accepted
        assert not again, f"delivered again after they were accepted: {sorted(again)}"
        self.delivered |= places
        for message in messages:
            try:
                consumer.acknowledge(message, AcknowledgeType.ACCEPT)
            except KafkaException:
                self.unsure.add((message.partition(), message.offset()))
        refused = set()
        try:
            for place, error in consumer.commit_sync(10).items():
                if error is not None:
                    refused.add(place.partition)
        except KafkaException:
            refused = set(range(PARTITIONS))
        for place in places - self.unsure:
            (self.unsure if place[0] in refused else self.accepted).add(place)
        self.unsure -= self.accepted


def kill(mortal: WorkersBroker, pid: int, number: int, _consume: Callable[[], None]) -> None:
    """End a worker, which is started again."""
    mortal.kill_worker(pid, number)


def stop_for_a_while(_mortal: WorkersBroker, pid: int, _number: int, consume: Callable[[], None]) -> None:
    """Have a worker hang for longer than others wait for it, while members go on."""
    os.kill(pid, signal.SIGSTOP)
    try:
        ends = time.monotonic() + HANG_SECONDS
        while time.monotonic() < ends:
            consume()
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("strike", [kill, stop_for_a_while])
def test_no_record_is_lost_and_none_accepted_comes_again_when_workers_die_or_hang(
    mortal: WorkersBroker, strike: Callable[..., None]
) -> None:
    create_topic(mortal, PLAIN, PARTITIONS)
    configure(
        mortal,
        "g",
        share_auto_offset_reset="earliest",
        share_record_lock_duration_ms="3000",
        kawal_share_deadletter_policy="keep",
    )
    history, seen = PlainHistory(mortal, PARTITIONS), Consumption(mortal)
    with (
        share_consumer(mortal, "g", PLAIN, explicit=True) as one,
        share_consumer(mortal, "g", PLAIN, explicit=True) as two,
    ):

        def consume() -> None:
            for consumer in (one, two):
                seen.consume(consumer)

        writer = Writer(history.write)
        for number, pid in enumerate(mortal.children()):
            strike(mortal, pid, number, consume)
            goal = len(seen.accepted) + 2_000

            def goes_on(goal: int = goal) -> bool:
                consume()
                return len(seen.accepted) >= goal

            eventually(goes_on, waiting_for=f"acceptances after worker {number} was struck")
        writer.stop()
        history.finish()
        written = {place for place, _ in history.acknowledged}

        def all_came() -> bool:
            consume()
            return seen.delivered >= written and seen.accepted | seen.unsure >= written

        eventually(all_came, waiting_for="all records")
    history.check(read_all(mortal, PLAIN, PARTITIONS))
    assert seen.delivered == written
    assert mortal.stop()[0] == 0
