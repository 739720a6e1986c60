"""A transactional copier, as applications write them: `python -m reliability.copier ADDRESS NAME SEED`.

It copies `copier-in` to `copier-out`, partition by partition, 500 to 750 records in a transaction with the
progress of its group, and aborts some at random. An error that can be retried is retried; one that asks for
an abort aborts, and the copier reads again from the group's progress; a fatal one ends the process with
RESTART, and whatever supervises it starts another. SIGTERM ends it after the transaction at work.
Source: KIP-98, KIP-447; the transactional API of librdkafka 2.x.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

INPUT: Final = "copier-in"
OUTPUT: Final = "copier-out"
GROUP: Final = "copiers"
PARTITIONS: Final = 9
SIZES: Final = (500, 750)
ABORTS: Final = 0.15
RESTART: Final = 75
"""The exit code that asks for another process, as sysexits.h has it for a temporary failure."""

TRY_SECONDS: Final = 10
"""The longest that one call of the client may take before the copier gives up on this process."""


class BeginAnew(Exception):
    """The transaction was aborted: read again from the group's progress."""


class Copier:
    """One instance."""

    def __init__(self, address: str, name: str, seed: int) -> None:
        self.random = Random(f"{name} {seed}")
        self.stopping = False
        self._rebalances = 0
        # When the only broker restarts, librdkafka 2.13 to 2.16 drops what it knew of it but for the group's
        # coordinator, and send_offsets_to_transaction() waits for that one for ever, whatever its timeout
        # says (librdkafka issue 5511); not so with this setting.
        common = {"bootstrap.servers": address, "metadata.recovery.strategy": "none"}
        self._consumer = Consumer(
            {
                **common, "group.id": GROUP, "client.id": name, "log_level": 3,
                "enable.auto.commit": False, "auto.offset.reset": "earliest",
                "isolation.level": "read_committed", "session.timeout.ms": 2_000,
                "heartbeat.interval.ms": 500, "reconnect.backoff.max.ms": 500,
            }
        )  # fmt: skip
        self._producer = Producer(
            {
                **common, "transactional.id": name, "client.id": name, "log_level": 3,
                "transaction.timeout.ms": 10_000, "linger.ms": 5, "reconnect.backoff.max.ms": 500,
            }
        )  # fmt: skip

    def run(self) -> None:
        """Copy until asked to stop."""
        self._attempt(lambda: self._producer.init_transactions(TRY_SECONDS))
        self._consumer.subscribe([INPUT], on_assign=self._rebalanced, on_revoke=self._rebalanced)
        while not self.stopping:
            before = self._rebalances
            found = self._consumer.consume(self.random.randint(*SIZES), timeout=0.5)
            messages = [message for message in found if message.error() is None]
            if before != self._rebalances:
                # Some may belong to another member by now.
                self._rewind()
            elif messages:
                try:
                    self._copy(messages)
                except BeginAnew:
                    self._rewind()
        self._consumer.close()

    def _rebalanced(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._rebalances += 1

    def _copy(self, messages: list[Message]) -> None:
        self._producer.begin_transaction()
        progress: dict[int, int] = {}
        for message in messages:
            self._produce(message)
            progress[message.partition()] = message.offset() + 1
        places = [TopicPartition(INPUT, index, offset) for index, offset in progress.items()]
        group = self._consumer.consumer_group_metadata()
        self._attempt(lambda: self._producer.send_offsets_to_transaction(places, group, TRY_SECONDS))
        if self.random.random() < ABORTS:
            self._abort()
        self._attempt(lambda: self._producer.commit_transaction(TRY_SECONDS))

    def _produce(self, message: Message) -> None:
        while True:
            try:
                self._producer.produce(OUTPUT, message.value(), partition=message.partition())
                return
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                self._judge(error)

    def _abort(self) -> None:
        self._attempt(lambda: self._producer.abort_transaction(TRY_SECONDS))
        raise BeginAnew

    def _attempt(self, call: Callable[[], None]) -> None:
        """Call until it succeeds, for a bounded time.  Raises: BeginAnew, SystemExit."""
        deadline = time.monotonic() + 3 * TRY_SECONDS
        while True:
            try:
                call()
                return
            except KafkaException as error:
                self._judge(error)
                if time.monotonic() > deadline:
                    self._end(error)

    def _judge(self, failure: KafkaException) -> None:
        """Return if it may be tried again."""
        error: Any = failure.args[0]
        if error.txn_requires_abort():
            sys.stderr.write(f"aborts: {error}\n")
            self._abort()
        if not error.retriable():
            self._end(failure)

    def _end(self, failure: KafkaException) -> None:
        sys.stderr.write(f"ends: {failure}\n")
        # Without close(): that would wait for what cannot succeed.
        sys.stderr.flush()
        raise SystemExit(RESTART)

    def _rewind(self) -> None:
        assigned = self._consumer.assignment()
        if not assigned:
            return
        try:
            places = self._consumer.committed(assigned, timeout=TRY_SECONDS)
        except KafkaException as error:
            self._end(error)
        for place in places:
            place.offset = max(place.offset, 0)
        self._consumer.assign(places)


def main() -> None:
    """Run as the arguments say."""
    address, name, seed = sys.argv[1:]
    copier = Copier(address, name, int(seed))

    def stop(_number: int, _frame: object) -> None:
        copier.stopping = True

    signal.signal(signal.SIGTERM, stop)
    copier.run()


if __name__ == "__main__":
    main()
