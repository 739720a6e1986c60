"""A history of writes to a gateway whose workers are killed meanwhile, and the rules that it must keep.

Two writers run in threads of their own: an idempotent producer, whose values are numbers, and a transactional
one, which writes the number of each transaction to every partition of its topic, and aborts every third.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer

AGAIN_MS = 1_000
"""The longest pause of a producer between two tries to connect: by default 10 s, in which nothing is written
although the server is back, and half of that more by chance."""

PLAIN, TRANSACTIONS = "plain", "transactions"

Place = tuple[int, int]
"""A partition and an offset."""


class Writer:
    """A thread that writes until it is told to stop; its failure is that of `stop`."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._stopping = threading.Event()
        self._failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; raise what ended it before."""
        self._stopping.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "a writer hangs"
        if self._failures:
            raise self._failures[0]

    @property
    def failure(self) -> BaseException | None:
        """The error that has ended it, if one has."""
        return next(iter(self._failures), None)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._write()
        except BaseException as error:  # noqa: BLE001  (raised again by stop)
            self._failures.append(error)


class PlainHistory:
    """The records of an idempotent producer, each in the next partition."""

    def __init__(self, broker: Broker, partitions: int) -> None:
        self._producer = make_producer(broker, enable_idempotence=True, reconnect_backoff_max_ms=AGAIN_MS)
        self._partitions = partitions
        self.sent = 0
        self.acknowledged: list[tuple[Place, int]] = []

    def write(self) -> None:
        """Write a few records more."""
        for _ in range(10):
            self._producer.produce(
                PLAIN, b"%d" % self.sent, partition=self.sent % self._partitions, on_delivery=self._answered
            )
            self.sent += 1
        self._producer.poll(0.01)

    def finish(self) -> None:
        """Wait until all is acknowledged."""
        assert self._producer.flush(60) == 0

    def check(self, found: list[tuple[Place, int]]) -> None:
        """Check that each acknowledged record is there once, at its offset, and nothing else."""
        places = Counter(place for place, _ in self.acknowledged)
        assert [place for place, times in places.items() if times > 1] == [], "offsets given twice"
        assert len(self.acknowledged) == self.sent, "records were refused"
        assert sorted(found) == sorted(self.acknowledged)

    def _answered(self, error: Any, message: Any) -> None:
        assert error is None, error
        self.acknowledged.append(((message.partition(), message.offset()), int(message.value())))


class TransactionHistory:
    """Transactions over all partitions, and how each has ended."""

    def __init__(self, broker: Broker, name: str, partitions: int, **settings: Any) -> None:
        wanted = {"transaction_timeout_ms": 60_000, "reconnect_backoff_max_ms": AGAIN_MS, **settings}
        self._producer = make_producer(broker, transactional_id=name, **wanted)
        self._producer.init_transactions(60)
        self._partitions = partitions
        self._next = 0
        self.committed: list[int] = []
        self.aborted: list[int] = []

    def write(self) -> None:
        """Make one transaction."""
        number, self._next = self._next, self._next + 1
        self._producer.begin_transaction()
        try:
            for index in range(self._partitions):
                self._producer.produce(TRANSACTIONS, b"%d" % number, partition=index)
            if number % 3:
                persistent(self._producer.commit_transaction)
                self.committed.append(number)
                return
        except KafkaException as refusal:
            if not refusal.args[0].txn_requires_abort():
                raise
        persistent(self._producer.abort_transaction)
        self.aborted.append(number)

    def check(self, found: list[tuple[Place, int]]) -> None:
        """Check that each committed transaction is there once in each partition, and no other."""
        wanted = sorted((index, number) for index in range(self._partitions) for number in self.committed)
        assert sorted((place[0], number) for place, number in found) == wanted


class ProgressHistory:
    """The progress of a group in all partitions, which it commits again and again without a member."""

    def __init__(self, broker: Broker, group_id: str, topic: str, partitions: int, **settings: Any) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": group_id,
                "log_level": 2,
                "reconnect.backoff.max.ms": AGAIN_MS,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        self._topic = topic
        self._partitions = partitions
        self.committed = self.tried = 0

    def write(self) -> None:
        """Commit the next offset in all partitions; what fails may count or not."""
        self.tried += 1
        places = [TopicPartition(self._topic, index, self.tried) for index in range(self._partitions)]
        try:
            answered = self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException:
            return
        if not any(place.error for place in answered):
            self.committed = self.tried

    def check(self, found: dict[int, int]) -> None:
        """Check that in each partition what was committed last counts, or what was tried after it."""
        assert found.keys() == set(range(self._partitions))
        assert all(self.committed <= offset <= self.tried for offset in found.values()), (
            f"{self.committed} was committed, {self.tried} tried last, and {found} counts"
        )


def persistent(end: Callable[[float], None]) -> None:
    """Call until it has ended, as librdkafka wants it after an error that it calls retriable."""
    while True:
        try:
            end(60)
            return
        except KafkaException as refusal:
            if not refusal.args[0].retriable():
                raise


def read_all(broker: Broker, topic: str, partitions: int) -> list[tuple[Place, int]]:
    """Read the committed records of all partitions up to their ends."""
    found: list[tuple[Place, int]] = []
    settings = {"isolation_level": "read_committed", "enable_partition_eof": True}
    with open_consumer(broker, **settings) as consumer:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        ended: set[int] = set()
        while len(ended) < partitions:
            message = consumer.poll(60)
            assert message is not None, f"{topic} cannot be read to its end: {ended}, {len(found)} records"
            if message.error():
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                ended.add(message.partition())
            else:
                found.append(((message.partition(), message.offset()), int(message.value())))
    return found
