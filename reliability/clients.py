"""Stock clients that write and read while a rig breaks the gateway; each notes what it did in the history."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition
from kafka.errors import KafkaError

from reliability.history import History, Record

PLAIN, COMPACTED, RETAINED = "plain", "compacted", "retained"
TOPICS: Final = (PLAIN, COMPACTED, RETAINED)
PARTITIONS: Final = 2
RECORD_KEYS: Final = 40
OUTSTANDING_MAX: Final = 100
PADDING: Final = 300

FAILURES_MAX: Final = 50
"""A producer of which so many sends in a row have failed is replaced: some libraries never recover.

A clock set back lets the server refuse records as too far in the future, and the next numbers with them.
"""


def key_of(topic: str, partition: int) -> str:
    """Return a partition's name in the history."""
    return f"{topic}-{partition}"


class Actor:
    """A client in a thread of its own, until `stop`."""

    def __init__(self, name: str, bootstrap: str, history: History) -> None:
        self.name = name
        self.bootstrap = bootstrap
        self.history = history
        self.stopping = threading.Event()
        self.error: BaseException | None = None
        # A run that has failed ends although its clients still try to reach a server that has ended.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and raise what ended the thread early."""
        self.stopping.set()

    def join(self, seconds: float) -> None:
        """Wait for the end.  Raises: the error that ended it; TimeoutError."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            raise TimeoutError(f"client {self.name} did not end within {seconds} s")
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001  (join raises it in the rig)
            self.error = error

    def work(self) -> None:
        """Write or read until `stopping`."""
        raise NotImplementedError


class Writer(Actor):
    """An idempotent producer with acks=all; `send` and `flush` are those of its library."""

    def __init__(self, name: str, bootstrap: str, history: History, seed: int, rate: float) -> None:
        super().__init__(name, bootstrap, history)
        self._random = Random(f"{name}-{seed}")
        self._pause = 1 / rate
        self._number = 0
        self.outstanding = 0
        self.failures = 0

    def work(self) -> None:
        """Send values to all partitions, a bounded number of them on their way."""
        producer = self.make()
        while not self.stopping.is_set():
            if self.failures >= FAILURES_MAX and not self.outstanding:
                self.flush(producer)
                producer, self.failures = self.make(), 0
            if self.outstanding < OUTSTANDING_MAX and self.failures < FAILURES_MAX:
                self._send_one(producer)
            self.poll(producer)
            time.sleep(self._pause)
        self.flush(producer)

    def _send_one(self, producer: Any) -> None:
        topic, partition = self._random.choice(TOPICS), self._random.randrange(PARTITIONS)
        record_key = f"k{self._random.randrange(RECORD_KEYS)}"
        value = f"{record_key}|{self.name}:{self._number}"
        self._number += 1
        key = key_of(topic, partition)
        self.history.add(self.name, "send", "invoke", key=key, value=value)
        self.outstanding += 1
        padded = value + " " * self._random.randrange(PADDING)
        try:
            self.send(producer, topic, partition, record_key.encode(), padded.encode(), value)
        except (KafkaException, KafkaError, BufferError) as error:
            self.done(key, value, -1, error, is_certain=True)

    def done(self, key: str, value: str, offset: int, error: object, *, is_certain: bool = False) -> None:
        """Record the outcome of a send."""
        self.outstanding -= 1
        self.failures = 0 if error is None else self.failures + 1
        kind = "ok" if error is None else "fail" if is_certain else "info"
        self.history.add(self.name, "send", kind, key=key, value=value, offset=offset)

    def make(self) -> Any:
        """Return the library's producer."""
        raise NotImplementedError

    def send(self, producer: Any, topic: str, partition: int, key: bytes, data: bytes, value: str) -> None:
        """Send one record; `done` is called with its outcome."""
        raise NotImplementedError

    def poll(self, producer: Any) -> None:
        """Let callbacks run, where the library needs that."""

    def flush(self, producer: Any) -> None:
        """Wait for what is on its way."""
        raise NotImplementedError


class RdkafkaWriter(Writer):
    """librdkafka through confluent-kafka."""

    def make(self) -> Any:
        """Return the producer."""
        return Producer(
            {
                "bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 5,
                "log_level": 0,
                "message.timeout.ms": 600_000, "retry.backoff.ms": 50, "reconnect.backoff.max.ms": 300,
            }
        )  # fmt: skip

    def send(self, producer: Any, topic: str, partition: int, key: bytes, data: bytes, value: str) -> None:
        """Send one record."""
        name = key_of(topic, partition)

        def delivered(error: Any, message: Any) -> None:
            self.done(name, value, -1 if error is not None else message.offset(), error)

        producer.produce(topic, data, key, partition=partition, on_delivery=delivered)

    def poll(self, producer: Any) -> None:
        """Serve callbacks."""
        producer.poll(0)

    def flush(self, producer: Any) -> None:
        """Wait."""
        producer.flush(60)


class PythonWriter(Writer):
    """kafka-python."""

    def make(self) -> Any:
        """Return the producer, once the server answers."""
        return until_it_answers(
            self.stopping,
            lambda: KafkaProducer(
                bootstrap_servers=self.bootstrap, enable_idempotence=True, acks="all", linger_ms=5,
                delivery_timeout_ms=600_000, retry_backoff_ms=50, reconnect_backoff_max_ms=300,
            ),
        )  # fmt: skip

    def send(self, producer: Any, topic: str, partition: int, key: bytes, data: bytes, value: str) -> None:
        """Send one record."""
        name = key_of(topic, partition)
        future = producer.send(topic, data, key=key, partition=partition)
        future.add_callback(lambda found: self.done(name, value, found.offset, None))
        future.add_errback(lambda error: self.done(name, value, -1, error))

    def flush(self, producer: Any) -> None:
        """Wait and close."""
        producer.flush(timeout=60)
        producer.close(timeout=10)


def until_it_answers(stopping: threading.Event, make: Callable[[], Any]) -> Any:
    """Return what `make` makes, tried again as long as the server does not answer."""
    while True:
        try:
            return make()
        except KafkaError:
            if stopping.is_set():
                raise
            time.sleep(0.1)


class Reader(Actor):
    """A consumer by `assign`, from the beginning of all partitions; its group commits what it has read."""

    def work(self) -> None:
        """Poll until told to stop; record every poll."""
        config = {
            "bootstrap.servers": self.bootstrap, "group.id": self.name, "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "log_level": 0, "reconnect.backoff.max.ms": 300,
        }  # fmt: skip
        consumer = Consumer(config)
        consumer.assign(
            [TopicPartition(topic, number, 0) for topic in TOPICS for number in range(PARTITIONS)]
        )
        self.history.add(self.name, "assign", "ok")
        last_commit = time.monotonic()
        while not self.stopping.is_set():
            found = [message for message in consumer.consume(500, timeout=0.2) if message.error() is None]
            if found:
                self.history.add(self.name, "poll", "ok", records=tuple(record_of(m) for m in found))
            if time.monotonic() - last_commit > 0.3:
                last_commit = time.monotonic()
                self._commit(consumer)
        consumer.close()

    def _commit(self, consumer: Any) -> None:
        positions = [place for place in consumer.position(consumer.assignment()) if place.offset >= 0]
        if not positions:
            return
        for place in positions:
            key = key_of(place.topic, place.partition)
            self.history.add(self.name, "commit", "invoke", key=key, offset=place.offset)
        try:
            done = consumer.commit(offsets=positions, asynchronous=False)
        except KafkaException:
            return  # it may have happened
        for place in done:
            if place.error is None:
                key = key_of(place.topic, place.partition)
                self.history.add(self.name, "commit", "ok", key=key, offset=place.offset)


def record_of(message: Any) -> Record:
    """Return a record of confluent-kafka for the history."""
    key = key_of(message.topic(), message.partition())
    return key, int(message.offset()), message.value().decode().rstrip(" ")


class PythonReader(Actor):
    """kafka-python by `assign`, from the beginning."""

    def work(self) -> None:
        """Poll until told to stop; record every poll."""
        consumer = until_it_answers(
            self.stopping,
            lambda: KafkaConsumer(
                bootstrap_servers=self.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False,
                reconnect_backoff_max_ms=300, max_poll_records=500, isolation_level="read_committed",
            ),
        )  # fmt: skip
        consumer.assign([PythonPartition(topic, n) for topic in TOPICS for n in range(PARTITIONS)])
        self.history.add(self.name, "assign", "ok")
        while not self.stopping.is_set():
            found = consumer.poll(timeout_ms=200)
            records = tuple(
                (key_of(place.topic, place.partition), record.offset, record.value.decode().rstrip(" "))
                for place, batch in found.items()
                for record in batch
            )
            if records:
                self.history.add(self.name, "poll", "ok", records=records)
        consumer.close()
