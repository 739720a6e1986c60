"""Answers that wait: for the disk, as a change is answered when it is durable, or for their turn."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final, Protocol, TypeVar

from broker.loop.call import PARKED, Call, Parked
from broker.loop.loop import Loop
from broker.loop.slices import ITEMS_PER_SLICE, Offload, Until
from protocol.error_codes import ErrorCode

ANSWERS_SHARE_NS: Final = 4_000_000
"""The age of a turn after which answers to other calls wait for the next: 10,000 members join at once."""

Response = TypeVar("Response")


class EncodedAnswer:
    """The body of an answer without errors, encoded already; it may be sent to many clients."""

    __slots__ = ("parts", "size_bytes")

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts
        self.size_bytes = sum(map(len, parts))


class WholeAnswer(EncodedAnswer):
    """An answer to one call with its size and header: nothing is added."""

    __slots__ = ()

    def __init__(self, data: bytes) -> None:
        self.parts = [data]
        self.size_bytes = len(data)


class RawAnswer(EncodedAnswer):
    """An answer without a header: a bare token, as it follows a SaslHandshake v0."""

    __slots__ = ()


def reply_in_turn(loop: Loop, call: Call[Any]) -> Callable[[object], None]:
    """Return a function that answers the call: now, or in the next turn if this one has taken long already.

    A call that is being handled is answered now, however long others took.
    """

    def reply(response: object) -> None:
        turns = loop.stats.turns
        if turns.task is call or turns.clock_ns() - turns.began_ns < ANSWERS_SHARE_NS:
            call.reply(response)
        else:
            loop.scheduler.first(lambda: call.reply(response))

    return reply


class Awaited:
    """Several answers that are waited for; they come in any order."""

    def __init__(self) -> None:
        self._open = 0
        self._complete: Callable[[], None] | None = None

    def expect(self, take: Callable[[Response], object]) -> Callable[[Response], None]:
        """Return the function that takes the next answer, and passes it to `take`."""
        self._open += 1

        def answered(response: Response) -> None:
            take(response)
            self._open -= 1
            if not self._open and self._complete is not None:
                self._complete()

        return answered

    def when_complete(self, resume: Callable[[], None]) -> None:
        """Call `resume` when every answer has come."""
        self._complete = resume
        if not self._open:
            resume()


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


class PendingChanges:
    """The changes that one request has made and that are not durable yet.

    Each is awaited from the moment it is made: of changes made in different slices, some may become durable
    and others be lost, and the log gives out the versions of lost ones again.
    """

    def __init__(self, log: Log, call: Call[Any], offload: Offload) -> None:
        """`offload` runs work in a thread, which encodes a long answer."""
        self._log = log
        self._call = call
        self._offload = offload
        self._made = 0
        self._outstanding = 0
        self._response: object = None

    def made(self, item: Item) -> None:
        """Await the change that was just made; if it is lost, `item` gets the error."""
        self._made += 1
        self._outstanding += 1

        def recorded(error: ErrorCode | None) -> None:
            if error is not None:
                item.error_code = error
            self._outstanding -= 1
            if self._response is not None and not self._outstanding:
                self._reply()

        self._log.when_durable(recorded, self._call.received_ms)

    def answer(self, response: Response) -> Response | Parked:
        """Return the answer, or park the call until all changes are settled."""
        if not self._outstanding:
            return response
        self._response = response
        return PARKED

    def _reply(self) -> None:
        if self._made > ITEMS_PER_SLICE:
            self._call.reply_in_thread(self._response, self._offload)
        else:
            self._call.reply(self._response)
