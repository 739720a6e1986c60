"""The notes of a transactional producer on its transactions, whatever its library says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaException

from reliability import transactional_clients
from reliability.history import History
from reliability.transactional_clients import Replace, TransactionalWriter


def error(*, retriable: bool = False, abortable: bool = False) -> KafkaException:
    """Return an error as librdkafka classifies it."""
    return KafkaException(
        SimpleNamespace(
            retriable=lambda: retriable,
            txn_requires_abort=lambda: abortable,
            name=lambda: "INVALID_TXN_STATE",
        )
    )


class Producer:
    """A producer whose ends of transactions go as they are told."""

    def __init__(self, *ends: KafkaException | None) -> None:
        self._ends: Iterator[KafkaException | None] = iter(ends)
        self.asked: list[str] = []
        self._pending: list[Any] = []

    def begin_transaction(self) -> None:
        self.asked.append("begin")

    def produce(self, *_: Any, on_delivery: Any, **__: Any) -> None:
        self._pending.append(on_delivery)

    def commit_transaction(self, _seconds: float) -> None:
        self._end("commit")

    def abort_transaction(self, _seconds: float) -> None:
        self._end("abort")

    def _end(self, what: str) -> None:
        self.asked.append(what)
        failure = next(self._ends, None)
        if failure is not None:
            raise failure
        for offset, delivered in enumerate(self._pending):
            delivered(None, SimpleNamespace(offset=lambda offset=offset: offset))


@pytest.fixture
def history() -> History:
    return History()


def transacted(history: History, producer: Producer, monkeypatch: pytest.MonkeyPatch, aborts: float) -> None:
    monkeypatch.setattr(transactional_clients, "ABORTS", aborts)
    writer: Any = TransactionalWriter("tx", "nowhere", history, seed=1)
    writer._transact(producer)


def outcomes(history: History) -> tuple[set[str], str, bool]:
    """Return the outcomes of the values and of the transaction, and whether all values have offsets."""
    ends = [op for op in history.ops if op.f == "send" and op.type != "invoke"]
    (txn,) = (op for op in history.ops if op.f == "txn")
    assert [op.value for op in ends] == [value for _, _, value in txn.records]
    return {op.type for op in ends}, txn.type, all(op.offset >= 0 for op in ends)


def test_values_of_a_committed_transaction_are_acknowledged_with_their_offsets(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Producer(error(retriable=True), error(retriable=True))
    transacted(history, producer, monkeypatch, aborts=0)
    assert outcomes(history) == ({"ok"}, "ok", True)
    assert producer.asked == ["begin", "commit", "commit", "commit"]


def test_values_of_an_aborted_transaction_have_failed(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    transacted(history, Producer(), monkeypatch, aborts=1)
    assert outcomes(history) == ({"fail"}, "fail", False)


def test_a_commit_that_asks_for_an_abort_is_aborted(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Producer(error(abortable=True))
    transacted(history, producer, monkeypatch, aborts=0)
    assert outcomes(history) == ({"fail"}, "fail", False)
    assert producer.asked == ["begin", "commit", "abort"]


@pytest.mark.parametrize("ends", [(error(),), (error(abortable=True), error()), (error(abortable=True),) * 2])
def test_after_a_fatal_error_the_outcome_is_not_known_and_another_instance_is_needed(
    history: History, monkeypatch: pytest.MonkeyPatch, ends: tuple[KafkaException, ...]
) -> None:
    with pytest.raises(Replace):
        transacted(history, Producer(*ends), monkeypatch, aborts=0)
    assert outcomes(history) == ({"info"}, "info", False)


def test_an_instance_that_is_replaced_is_noted_with_what_it_was_told(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer: Any = TransactionalWriter("tx", "nowhere", history, seed=1)

    def fail(_producer: object) -> None:
        writer.stopping.set()
        raise Replace("_FENCED")

    monkeypatch.setattr(writer, "_work_with", fail)
    monkeypatch.setattr(writer, "_make", lambda: None)
    writer._began = time.monotonic() - 2
    writer.work()
    (op,) = history.ops
    assert (op.process, op.f, op.value) == ("tx", "replaced", "_FENCED")
    assert 2_000 <= op.offset < 60_000
