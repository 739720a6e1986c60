"""The copier meets errors, without a server."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from confluent_kafka import KafkaException

from reliability.copier import RESTART, BeginAnew, Copier


class Error:
    """A client's error, as librdkafka classifies it."""

    def __init__(self, *, retriable: bool = False, abortable: bool = False) -> None:
        self._retriable, self._abortable = retriable, abortable

    def retriable(self) -> bool:
        return self._retriable

    def txn_requires_abort(self) -> bool:
        return self._abortable


class Producer:
    """A producer that only notes aborts."""

    aborts = 0

    def abort_transaction(self, _seconds: float) -> None:
        self.aborts += 1


@pytest.fixture
def copier() -> Any:
    made: Any = Copier.__new__(Copier)
    made.random, made._producer = Random(1), Producer()
    return made


def test_an_error_that_may_pass_is_tried_again(copier: Any) -> None:
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise KafkaException(Error(retriable=True))

    copier._attempt(call)
    assert len(calls) == 3


def test_an_abortable_error_aborts_and_begins_anew(copier: Any) -> None:
    with pytest.raises(BeginAnew):
        copier._judge(KafkaException(Error(abortable=True)))
    assert copier._producer.aborts == 1


def test_a_fatal_error_ends_the_process_with_the_code_for_another(copier: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        copier._judge(KafkaException(Error()))
    assert ended.value.code == RESTART
