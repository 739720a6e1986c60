"""Kafka Streams' WordCount as Apache Kafka ships it: its state lives in a compacted changelog."""

from __future__ import annotations

import os
import random
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.conftest import StartBroker
from compat_tests.java import java_command
from compat_tests.process import ServerProcess
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

INPUT, OUTPUT = "streams-plaintext-input", "streams-wordcount-output"
"""The names that WordCountDemo has."""

WORDS = ("all", "streams", "lead", "to", "kawal", "and", "back", "again")
WITHIN_SECONDS = 100
"""It takes seconds when all is well; a disk that hangs for half a minute must not fail the test."""


class WordCount:
    """The application; each start begins with an empty state directory, so that the changelog is read."""

    def __init__(self, directory: Path, broker: Broker, **settings: str) -> None:
        self._directory = directory
        self._broker = broker
        self._settings = {key.replace("_", "."): value for key, value in settings.items()}
        self._starts = 0
        self.process: ServerProcess

    def start(self) -> None:
        """Start it."""
        self._starts += 1
        settings = {
            "bootstrap.servers": self._broker.bootstrap,
            "application.id": "words",
            "state.dir": str(self._directory / f"state-{self._starts}"),
            "commit.interval.ms": "200",
            "statestore.cache.max.bytes": "0",
            "default.key.serde": "org.apache.kafka.common.serialization.Serdes$StringSerde",
            "default.value.serde": "org.apache.kafka.common.serialization.Serdes$StringSerde",
            "auto.offset.reset": "earliest",
            # Streams does not leave its group when it stops: a restart waits for the session to end. One that
            # ends amid the work, since the machine has stopped the process, has words counted twice.
            "session.timeout.ms": "15000",
            "heartbeat.interval.ms": "1500",
            **self._settings,
        }
        properties = self._directory / "streams.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        main_class = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
        self.process = ServerProcess(
            java_command(main_class, str(properties)),
            log_path=self._directory / "streams.log",
            environment={},
        )


@pytest.fixture
def stopping() -> Iterator[list[WordCount]]:
    """Yield a list of applications that are ended with the test, whatever happens."""
    running: list[WordCount] = []
    yield running
    for application in running:
        application.process.kill()


def send_lines(broker: Broker, chance: random.Random, count: int) -> Counter[str]:
    """Produce lines of words; return how often each word occurs in them."""
    words: Counter[str] = Counter()
    producer = make_producer(broker)
    for _ in range(count):
        line = chance.choices(WORDS, k=5)
        words.update(line)
        producer.produce(INPUT, " ".join(line))
        producer.poll(0)
    assert producer.flush(60) == 0
    return words


def wait_for_counts(broker: Broker, application: WordCount, wanted: Counter[str]) -> None:
    """Read the output until the last count of each word is the one wanted."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False, "log_level": 2})
    consumer.subscribe([OUTPUT])
    counts: dict[str, int] = {}

    def arrived() -> bool:
        assert application.process.exit_code is None, application.process.tail()
        for message in consumer.consume(500, timeout=0.2):
            assert message.error() is None, message.error()
            (counts[message.key().decode()],) = struct.unpack(">q", message.value())
        return counts == wanted

    try:
        eventually(
            arrived,
            waiting_for="the counts",
            within_seconds=WITHIN_SECONDS,
            last=lambda: f"{counts}, wanted {wanted}\n{application.process.tail()}",
        )
    finally:
        consumer.close()


def internal_topics(broker: Broker) -> dict[str, str]:
    """Return the topics that Streams has made for itself, with their cleanup policies."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    names = [name for name in admin.list_topics(timeout=60).topics if name.startswith("words-")]
    asked = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
    return {
        resource.name.rpartition("-")[2]: future.result(60)["cleanup.policy"].value
        for resource, future in asked.items()
    }


@pytest.mark.timeout(300, method="signal")
def test_words_are_counted_over_restarts_of_application_and_broker(
    start_broker: StartBroker, tmp_path: Path, stopping: list[WordCount]
) -> None:
    broker = start_broker(log_cleaner_backoff_ms="1000", group_initial_rebalance_delay_ms="0")
    chance = random.Random(5)
    create_topic(broker, INPUT, 2)
    create_topic(broker, OUTPUT, 1, {"cleanup.policy": "compact"})
    words = send_lines(broker, chance, 300)
    application = WordCount(tmp_path, broker)
    application.start()
    stopping.append(application)
    wait_for_counts(broker, application, words)
    assert internal_topics(broker) == {"repartition": "delete", "changelog": "compact"}

    application.process.terminate(within_seconds=60)
    broker.kill()
    broker.restart()
    words += send_lines(broker, chance, 300)
    application.start()

    wait_for_counts(broker, application, words)
    application.process.terminate(within_seconds=60)


LINES = int(os.environ.get("COMPAT_STREAMS_LINES", "600"))
"""The lines that are counted exactly once; a long run takes 100,000."""


class Counts:
    """A reader of the committed counts, which keeps every one of them in its order."""

    def __init__(self, broker: Broker) -> None:
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "committed",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        self._consumer = Consumer({**settings, "enable.auto.commit": False, "log_level": 2})
        self._consumer.assign([TopicPartition(OUTPUT, 0, 0)])
        self.found: dict[str, list[int]] = {}

    def wait_for(self, application: WordCount, total: int) -> None:
        """Read until so many counts have been committed."""

        def arrived() -> bool:
            assert application.process.exit_code is None, application.process.tail()
            for message in self._consumer.consume(1_000, timeout=0.2):
                if message.error() is None:
                    (count,) = struct.unpack(">q", message.value())
                    self.found.setdefault(message.key().decode(), []).append(count)
            return sum(map(len, self.found.values())) >= total

        eventually(
            arrived,
            waiting_for=f"{total} counts",
            within_seconds=WITHIN_SECONDS + LINES / 50,
            last=lambda: f"{sum(map(len, self.found.values()))}\n{application.process.tail()}",
        )

    def close(self) -> None:
        """Close the reader."""
        self._consumer.close()


@pytest.mark.timeout(300 + LINES / 25, method="signal")
def test_each_word_is_counted_exactly_once_although_application_and_broker_are_killed(
    start_broker: StartBroker, tmp_path: Path, stopping: list[WordCount]
) -> None:
    """processing.guarantee=exactly_once_v2; without a cache each occurrence gives one count."""
    broker = start_broker(group_initial_rebalance_delay_ms="0")
    chance = random.Random(6)
    create_topic(broker, INPUT, 2)
    create_topic(broker, OUTPUT, 1)
    application = WordCount(
        tmp_path,
        broker,
        processing_guarantee="exactly_once_v2",
        # The transaction that a kill leaves open keeps readers waiting until its timeout; the restart of the
        # broker must not take as long.
        producer_transaction_timeout_ms="10000",
    )
    stopping.append(application)
    words = send_lines(broker, chance, LINES // 2)
    application.start()
    counts = Counts(broker)
    counts.wait_for(application, 100)
    application.process.kill()
    words += send_lines(broker, chance, LINES // 4)
    application.start()
    counts.wait_for(application, words.total() * 2 // 3)
    broker.kill()
    broker.restart()
    words += send_lines(broker, chance, LINES - LINES // 2 - LINES // 4)
    counts.wait_for(application, words.total())
    assert counts.found == {word: list(range(1, count + 1)) for word, count in words.items()}
    counts.close()
