"""Spark's own tests of its Kafka source, re-created: its consumers, and topics that come and go under them.

The names of Spark's tests are in the docstrings.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.broker import HOST, Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import SPARK_STRESS, MakeTopic, StartBroker
from compat_tests.overload.figures import metrics_of
from compat_tests.spark import in_real_time, number_stream, run_available, spark_session
from compat_tests.test_console_admin import address_in
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

WITHIN = 60


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def send(broker: Broker, topic: str, numbers: list[int]) -> None:
    produce(make_producer(broker), topic, [b"%d" % number for number in numbers])


def send_in_a_transaction(broker: Broker, topic: str, numbers: list[int]) -> None:
    producer = make_producer(broker, transactional_id=topic)
    producer.init_transactions(WITHIN)
    producer.begin_transaction()
    produce(producer, topic, [b"%d" % number for number in numbers])
    producer.commit_transaction(WITHIN)


def taken(broker: Broker, topic: str, count: int) -> list[int]:
    """Return the numbers at the start of a topic."""
    with open_consumer(broker) as consumer:
        return [int(message.value()) for message in read(consumer, topic, count)]


def test_a_query_in_real_time_mode_unites_two_topics(
    spark: Any, broker: Broker, topic: str, tmp_path: Path
) -> None:
    """Re-create KafkaRealTimeModeSuite "union …"."""
    topics = [create_topic(broker, f"{topic}-{letter}", 1) for letter in "ab"]
    target = create_topic(broker, f"{topic}-out", 1)
    one, two = (number_stream(spark, broker, subscribe=topic) for topic in topics)
    query = in_real_time(spark, broker, one.union(two), target, tmp_path)
    try:
        for first in (1, 3):
            for number, topic in enumerate(topics, first):
                send(broker, topic, [number])
            assert sorted(taken(broker, target, first + 1)) == list(range(1, first + 2))
    finally:
        query.stop()


def consumers(spark: Any) -> set[str]:
    """Return the names of the consumers that live in Spark's process, as Java's management has them."""
    java, gateway = spark.sparkContext._jvm, spark.sparkContext._gateway
    beans = java.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    wanted = java.javax.management.ObjectName("kafka.consumer:type=app-info,id=*")
    # The server's own class is not public: py4j finds the method by its interface alone.
    types = gateway.new_array(java.java.lang.Class, 2)
    arguments = gateway.new_array(java.java.lang.Object, 2)
    for place, name in enumerate(("ObjectName", "QueryExp")):
        types[place] = java.java.lang.Class.forName(f"javax.management.{name}")
    arguments[0] = wanted
    interface = java.java.lang.Class.forName("javax.management.MBeanServer")
    found = interface.getMethod("queryNames", types).invoke(beans, arguments)
    return {str(name) for name in found.toArray()}


def test_a_query_in_real_time_mode_reads_batch_after_batch_by_the_same_consumer(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create KafkaRealTimeModeSuite "SPARK-54200: … consumers are reused"."""
    topic = make_topic(1)
    target = create_topic(broker, f"{topic}-out", 1)
    before = consumers(spark)
    query = in_real_time(spark, broker, number_stream(spark, broker, subscribe=topic), target, tmp_path)
    try:
        seen = []
        for number in range(3):
            batches = len(query.recentProgress)
            send(broker, topic, [number])
            assert taken(broker, target, number + 1) == list(range(number + 1))
            seen.append(consumers(spark) - before)
            eventually(
                lambda batches=batches: len(query.recentProgress) > batches,  # type: ignore[misc]
                waiting_for="the end of a batch",
            )
    finally:
        query.stop()
    assert len(seen[0]) == 1, seen
    assert seen[1:] == seen[:1] * 2


def test_records_that_a_consumer_fetched_ahead_and_dropped_come_in_the_next_batch(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create "SPARK-25495: FetchedData.reset should reset all fields"."""
    topic = make_topic(1)
    send_in_a_transaction(broker, topic, [0, 1, 2, 3])
    batches: list[list[int]] = []

    def look(rows: Any, number: int) -> None:
        if number == 0:  # before this batch is read: its consumer gets the next one's records, too
            send_in_a_transaction(broker, topic, [4, 5, 6, 7])
        batches.append(sorted(row.number for row in rows.collect()))

    options = {"subscribe": topic, "kafka.isolation.level": "read_committed"}
    query = number_stream(spark, broker, **options).writeStream.foreachBatch(look).start()
    try:
        eventually(lambda: len(batches) == 2, waiting_for="two batches")
    finally:
        query.stop()
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7]]


def listings(address: str) -> float:
    """Return the number of ListOffsets requests that a gateway has answered."""
    figures = metrics_of(int(address.rpartition(":")[2]))
    return sum(
        value
        for (name, labels), value in figures.items()
        if name == "kawal_requests_total" and dict(labels)["api"].lower() in {"list_offsets", "listoffsets"}
    )


@pytest.mark.only_kawal("counted by the gateway's own metrics")
@pytest.mark.parametrize(("poll", "most"), [(500, 2 * 20 + 10), (5_000, 2 * 2 + 10)])
def test_a_query_asks_for_offsets_twice_for_each_poll_and_no_more(
    spark: Any, start_broker: StartBroker, topic: str, tmp_path: Path, poll: int, most: int
) -> None:
    # Spark's consumer looks up the first and the last offset after every poll, of 500 records by default:
    # the answers are the gateway's to give at once. Others are asked when a query begins.
    broker = start_broker(kawal_http_listen=f"{HOST}:0")
    address = eventually(lambda: address_in(broker.process.output()), waiting_for="the metrics")
    create_topic(broker, topic, 1)
    send(broker, topic, list(range(10_000)))
    before = listings(address)
    options = {"subscribe": topic, "kafka.max.poll.records": poll}
    assert sum(run_available(number_stream(spark, broker, **options), tmp_path)) == 10_000
    asked = listings(address) - before
    assert 2 * 10_000 / poll <= asked <= most, asked


class ComingAndGoing:
    """Topics of a pattern that are made, filled, deleted and made again at random."""

    def __init__(self, broker: Broker, prefix: str, seed: int) -> None:
        self.broker, self.prefix, self.chance = broker, prefix, random.Random(seed)
        self.admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
        self.producer = make_producer(broker, message_timeout_ms=20_000)
        self.there: list[str] = []
        self.deleted: list[str] = []
        self.made = 0

    def step(self) -> None:
        """Do one thing: mostly produce, else create, delete or create again."""
        what = self.chance.random()
        if not self.there or what < 0.15:
            self.made += 1
            self._create(f"{self.prefix}-{self.made}")
        elif what < 0.25:
            name = self.there.pop(self.chance.randrange(len(self.there)))
            self.admin.delete_topics([name])[name].result(WITHIN)
            self.deleted.append(name)
        elif what < 0.35 and self.deleted:
            self._create(self.deleted.pop(self.chance.randrange(len(self.deleted))))
        else:
            for number in range(self.chance.randrange(1, 30)):
                self.producer.produce(self.chance.choice(self.there), b"%d" % number)
            self.producer.poll(0)

    def _create(self, name: str) -> None:
        new = NewTopic(name, num_partitions=self.chance.randrange(1, 4), replication_factor=1)
        with suppress(KafkaException):  # it is being deleted
            self.admin.create_topics([new])[name].result(WITHIN)
            self.there.append(name)


@contextmanager
def following(source: Any, name: str) -> Iterator[Any]:
    query = source.writeStream.format("memory").queryName(name).start()
    try:
        yield query
    finally:
        query.stop()


@pytest.mark.timeout(900, method="signal")
def test_a_query_that_may_lose_records_outlives_topics_that_come_and_go(
    spark: Any, broker: Broker, topic: str, request: pytest.FixtureRequest
) -> None:
    """Re-create KafkaDontFailOnDataLossSuite "stress test for failOnDataLoss=false"."""
    until = time.monotonic() + float(request.config.getoption(SPARK_STRESS))
    changes = ComingAndGoing(broker, topic, seed=1)
    options = {
        "subscribePattern": f"^{re.escape(topic)}-.*$",
        "failOnDataLoss": "false",
        "fetchOffset.retryIntervalMs": 100,
        "kafka.metadata.max.age.ms": 100,
        "kafkaConsumer.pollTimeoutMs": 2_000,  # 120 s by default, in which a task waits for a deleted topic
    }
    source = number_stream(spark, broker, **options)
    with following(source, "stressed") as query:
        while time.monotonic() < until:
            changes.step()
            time.sleep(changes.chance.random() / 10)
        assert query.exception() is None
        name = create_topic(broker, f"{topic}-last", 1)
        send(broker, name, [-1])
        eventually(
            lambda: spark.sql("select * from stressed where number = -1").count(),
            waiting_for="the last record",
            within_seconds=400,  # a task waits 2 s for each partition that was deleted after its planning
        )
        assert query.exception() is None
    changes.producer.purge()
