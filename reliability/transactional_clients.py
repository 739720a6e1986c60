"""A transactional producer beside the others: some of its transactions are committed, some aborted.

A value is acknowledged when its transaction is committed, and has certainly failed when that was aborted; if
the answer to the end was lost, it may be either. The transaction as a whole is noted, too: `txn` with its
values, of which a reader of committed data must see all or none. An instance that was told that it cannot go
on is noted as `replaced`, with the code and the milliseconds since its transaction began: within the
transaction's timeout the server has no reason to say so, whatever answers were lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

from confluent_kafka import KafkaException, Producer

from reliability.check import TRANSACTION_TIMEOUT_MS
from reliability.clients import PARTITIONS, RECORD_KEYS, TOPICS, Actor, key_of
from reliability.history import History

VALUES_MAX: Final = 8
ABORTS: Final = 0.25
TRY_SECONDS: Final = 10
"""The longest that one call of the client may take."""

END_SECONDS: Final = 40
"""The longest that the end of a transaction is tried before another instance takes over."""

PAUSE_SECONDS: Final = 0.02

Sent = dict[str, tuple[str, int]]
"""The partition of each value of a transaction, and its offset, if that is known."""


class MustAbort(Exception):
    """The transaction cannot be committed."""


class Replace(Exception):
    """This instance of the producer is of no use any more; `code` is its error, "" if it was only slow."""

    def __init__(self, code: str = "") -> None:
        super().__init__(code)
        self.code = code


class TransactionalWriter(Actor):
    """librdkafka with a transactional id; an instance that cannot go on is replaced by another."""

    def __init__(self, name: str, bootstrap: str, history: History, seed: int) -> None:
        super().__init__(name, bootstrap, history)
        self._random = Random(f"{name}-{seed}")
        self._number = 0
        self._began = 0.0

    def work(self) -> None:
        """Write transactions until told to stop."""
        while not self.stopping.is_set():
            try:
                self._work_with(self._make())
            except MustAbort:
                continue
            except Replace as end:
                open_ms = int(1000 * (time.monotonic() - self._began))
                self.history.add(self.name, "replaced", "info", value=end.code, offset=open_ms)

    def _work_with(self, producer: Any) -> None:
        self._began = time.monotonic()
        self._until_ended(lambda: producer.init_transactions(TRY_SECONDS))
        while not self.stopping.is_set():
            self._transact(producer)
            time.sleep(PAUSE_SECONDS)

    def _make(self) -> Any:
        return Producer(
            {
                "bootstrap.servers": self.bootstrap, "transactional.id": self.name, "log_level": 0,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS, "linger.ms": 5, "retry.backoff.ms": 50,
                "reconnect.backoff.max.ms": 300,
                # See reliability/copier.py: librdkafka's issue 5511.
                "metadata.recovery.strategy": "none",
            }
        )  # fmt: skip

    def _transact(self, producer: Any) -> None:
        """Write some values and commit or abort them; note what became of them."""
        sent: Sent = {}
        self._began = time.monotonic()
        self._until_ended(producer.begin_transaction)
        outcome = "info"
        try:
            outcome = self._write(producer, sent)
        except (MustAbort, BufferError):
            self._abort(producer)
            outcome = "fail"
        finally:
            self._note(sent, outcome)

    def _write(self, producer: Any, sent: Sent) -> str:
        """Write and end a transaction; return its outcome.  Raises: MustAbort, Replace, BufferError."""
        for _ in range(self._random.randint(1, VALUES_MAX)):
            self._until_ended(lambda: self._send_one(producer, sent))
        if self._random.random() < ABORTS:
            self._abort(producer)
            return "fail"
        self._until_ended(lambda: producer.commit_transaction(TRY_SECONDS))
        return "ok"

    def _abort(self, producer: Any) -> None:
        try:
            self._until_ended(lambda: producer.abort_transaction(TRY_SECONDS))
        except MustAbort as error:
            raise Replace from error

    def _send_one(self, producer: Any, sent: Sent) -> None:
        topic, partition = self._random.choice(TOPICS), self._random.randrange(PARTITIONS)
        record_key = f"k{self._random.randrange(RECORD_KEYS)}"
        value = f"{record_key}|{self.name}:{self._number}"
        self._number += 1
        key = key_of(topic, partition)
        sent[value] = key, -1
        self.history.add(self.name, "send", "invoke", key=key, value=value)

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                sent[value] = key, message.offset()

        producer.produce(
            topic, value.encode(), record_key.encode(), partition=partition, on_delivery=delivered
        )

    def _note(self, sent: Sent, outcome: str) -> None:
        for value, (key, offset) in sent.items():
            # Without its offset, a committed value is missed as a part of its transaction only.
            known = outcome if outcome != "ok" or offset >= 0 else "info"
            place = offset if known == "ok" else -1
            self.history.add(self.name, "send", known, key=key, value=value, offset=place)
        records = tuple((key, offset, value) for value, (key, offset) in sent.items())
        self.history.add(self.name, "txn", outcome, records=records)

    def _until_ended(self, call: Callable[[], None]) -> None:
        """Call until it succeeds.

        Raises: MustAbort; Replace after a fatal error, or when it takes too long.
        """
        deadline = time.monotonic() + END_SECONDS
        while True:
            try:
                call()
                return
            except KafkaException as failure:
                error: Any = failure.args[0]
                if error.txn_requires_abort():
                    raise MustAbort from failure
                if not error.retriable():
                    raise Replace(error.name()) from failure
                if time.monotonic() > deadline:
                    raise Replace from failure
