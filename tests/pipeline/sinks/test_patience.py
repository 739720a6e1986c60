"""Questions that are asked again."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from pipeline.sinks.patience import reporting, when_ready


class Coordinator:
    """A coordinator that answers with errors first, and the clock that its client looks at."""

    def __init__(self, *errors: int) -> None:
        self.errors = list(errors)
        self.time = 0.0

    def ask(self) -> str:
        if self.errors:
            raise KafkaException(KafkaError(self.errors.pop(0)))
        return "answer"

    def asked(self) -> str:
        return when_ready(self.ask, within_seconds=1, now=lambda: self.time, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def test_a_coordinator_that_is_being_made_is_asked_again() -> None:
    """A copy to a Kafka that had no group yet ended with "Not coordinator"."""
    asked = Coordinator(
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    )
    assert asked.asked() == "answer"


def test_an_error_that_stays_is_raised_after_the_time() -> None:
    asked = Coordinator(*[KafkaError.NOT_COORDINATOR] * 1_000)
    with pytest.raises(KafkaException):
        asked.asked()
    assert 1 <= asked.time < 2


def test_any_other_error_is_raised_at_once() -> None:
    asked = Coordinator(KafkaError.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        asked.asked()
    assert asked.time == 0


FENCED = KafkaException(KafkaError(KafkaError._FENCED, fatal=True))


class Producer:
    """In a transaction, which is what it says when it is asked to begin one; or ended by a fatal error."""

    def __init__(self, fatal: KafkaException | None = None) -> None:
        self.error = fatal or KafkaException(KafkaError(KafkaError._STATE))

    def begin_transaction(self) -> None:
        raise self.error


def test_a_fatal_error_beside_reports_is_raised_as_itself() -> None:
    """Bug: a copy whose producer was fenced while it reported deliveries ended with a SystemError."""

    def flush(_seconds: float) -> int:
        raise SystemError("returned a result with an exception set") from FENCED

    with pytest.raises(KafkaException) as raised:
        reporting(Producer(), flush, 1)
    assert raised.value is FENCED


def test_a_fatal_error_that_got_lost_beside_reports_is_asked_for() -> None:
    """Bug: the same with two errors at once, of which confluent-kafka lost both."""

    def flush(_seconds: float) -> int:
        raise SystemError("returned NULL without setting an exception")

    with pytest.raises(KafkaException) as raised:
        reporting(Producer(FENCED), flush, 1)
    assert raised.value is FENCED


def test_other_errors_of_python_itself_and_results_are_passed_on() -> None:
    def broken(_seconds: float) -> int:
        raise SystemError("bad call")

    with pytest.raises(SystemError, match="bad call"):
        reporting(Producer(), broken, 1)
    assert reporting(Producer(), int, 3) == 3
