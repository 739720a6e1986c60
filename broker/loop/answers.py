"""Answers that wait for the disk: a change is answered when it is durable."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Until
from protocol.error_codes import ErrorCode


class Item(Protocol):
    """The part of an answer about one of the things to be changed."""

    error_code: int


class Log(Protocol):
    """The log in which the changes are recorded."""

    def when_durable(self, done: Callable[[ErrorCode | None], None], now_ms: int) -> None:
        """Call `done(error)` when every change made so far is on the disk."""


def until_durable(log: Log, now_ms: int) -> Generator[Until, None, ErrorCode | None]:
    """Wait until the changes made so far are durable; return the error, if they are lost."""
    errors: list[ErrorCode | None] = []

    def start(resume: Callable[[], None]) -> None:
        def recorded(error: ErrorCode | None) -> None:
            errors.append(error)
            resume()

        log.when_durable(recorded, now_ms)

    yield Until(start)
    return errors[0]


def reply_when_durable(log: Log, call: Call[Any], response: object, changed: Sequence[Item]) -> Parked:
    """Answer the call when the changes made so far are durable; if they are lost, their items say so."""

    def recorded(error: ErrorCode | None) -> None:
        if error is not None:
            for item in changed:
                item.error_code = error
        call.reply(response)

    log.when_durable(recorded, call.received_ms)
    return PARKED
