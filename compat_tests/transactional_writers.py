"""A transactional producer that never stops by itself, and how its transactions ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaException, Producer

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer

ABORTED_OF = 5
"""Every fifth transaction is aborted."""
CALL_SECONDS = 5.0
"""A call that takes longer is made again: the server may be away."""


class TransactionalWriter:
    """Writes the numbers 0, 1, 2, … in a thread, each in a transaction with a record in each partition."""

    def __init__(self, broker: Broker, topic: str, partitions: int) -> None:
        self._broker = broker
        self._topic = topic
        self._partitions = partitions
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.committed: list[int] = []
        """Numbers whose commit was acknowledged."""
        self.aborted: set[int] = set()
        """Numbers whose abort was acknowledged, with no commit asked for."""

    def __enter__(self) -> TransactionalWriter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Begin no further transaction, and wait for the end of this one."""
        self._stop.set()
        self._thread.join(90)
        assert not self._thread.is_alive(), "the transactional writer did not end"

    def wait_for_commits(self, more: int) -> None:
        """Wait until this many further transactions are committed."""
        goal, deadline = len(self.committed) + more, time.monotonic() + 90
        while len(self.committed) < goal:
            assert time.monotonic() < deadline, f"{len(self.committed)} of {goal} commits"
            assert self._thread.is_alive(), "the transactional writer has ended"
            time.sleep(0.01)

    def _run(self) -> None:
        producer, number = self._made(), 0
        while not self._stop.is_set():
            try:
                self._transaction(producer, number)
            except KafkaException as error:
                if error.args[0].txn_requires_abort():
                    with suppress(KafkaException):
                        again(producer.abort_transaction)
                        number += 1
                        continue
                producer = self._made()
            number += 1

    def _made(self) -> Producer:
        producer: Any = make_producer(
            self._broker,
            transactional_id=self._topic,
            transaction_timeout_ms=300_000,
            message_timeout_ms=300_000,
        )
        again(producer.init_transactions)
        return producer

    def _transaction(self, producer: Any, number: int) -> None:
        producer.begin_transaction()
        for index in range(self._partitions):
            producer.produce(self._topic, b"%d" % number, partition=index)
        if number % ABORTED_OF == ABORTED_OF - 1:
            again(producer.flush)
            again(producer.abort_transaction)
            self.aborted.add(number)
        else:
            again(producer.commit_transaction)
            self.committed.append(number)


def again(call: Callable[[float], Any]) -> None:
    """Make a call until it succeeds.  Raises: KafkaException, if trying again does not help."""
    deadline = time.monotonic() + 90
    while True:
        try:
            call(CALL_SECONDS)
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise
        else:
            return
