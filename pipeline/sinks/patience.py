"""Questions to a coordinator that has only just moved, or is being made, are asked again.

A broker makes the topics of its groups and transactions when they are first asked for, and a coordinator that
moves reads its log first. Meanwhile it answers that it is not ready. Clients of group members wait by
themselves; librdkafka's questions about the positions of a group come back with the error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")

PAUSE_SECONDS = 0.2


def when_ready(
    ask: Callable[[], Answer],
    *,
    within_seconds: float,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Return the answer of `ask`, which is asked again while a coordinator is not ready.

    Raises: KafkaException: another error, or the same for `within_seconds`.
    """
    from confluent_kafka import KafkaError, KafkaException

    not_ready = {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
    deadline = now() + within_seconds
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in not_ready or now() >= deadline:
                raise
        sleep(PAUSE_SECONDS)


def reporting(producer: Any, work: Callable[[float], int], seconds: float) -> int:
    """Have a transactional producer work, and report deliveries meanwhile: `work` is its flush or poll.

    confluent-kafka 2.16 goes on with reports after it has noted a fatal error for the caller, such as that it
    is fenced.  Python makes a SystemError of that, which has the error as its cause, or has lost it.  A
    transaction must be open.  Raises: KafkaException.
    """
    from confluent_kafka import KafkaException

    try:
        return work(seconds)
    except SystemError as error:
        if isinstance(error.__cause__, KafkaException):
            raise error.__cause__ from None
        fatal = _fatal_error(producer)
        if fatal is None:
            raise
        raise fatal from None


def _fatal_error(producer: Any) -> Exception | None:
    """Return the error that has ended a producer for good, if there is one.

    A call that is out of place in an open transaction tells: it is refused for that reason, or for the error.
    """
    from confluent_kafka import KafkaException

    try:
        producer.begin_transaction()
    except KafkaException as error:
        return error if error.args[0].fatal() else None
    raise AssertionError("a producer was asked for its fatal error outside a transaction")
