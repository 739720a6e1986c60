"""Wide answers are encoded while there is room for their bytes, and a few at a time.

A request of 40 KB may ask for 34 MB: the configs of 8,000 topics with their documentation.  What an answer
takes is known when it is encoded, so a client with 24 connections would have 800 MB made at once.  While the
memory for answers, or the share of the client's address, is full of what readers have not taken, a wide
answer waits as the objects that it was made of; the reaper makes room (connection_reaper.py).

Those objects take memory, too.  Where an answer is as large as what exists, however small its request is,
answers are made one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from broker.loop.one_by_one import OneByOne

if TYPE_CHECKING:
    from broker.connections.thread_answer import ThreadAnswer
    from broker.loop.call import Call
    from broker.loop.slices import Offload, WaitingSteps

ENCODED_AT_ONCE: Final = 2
"""The wide answers that are being encoded: as many as threads do it, and their bytes come on top."""

LOOKED_AT_MAX: Final = 8
"""The answers that wait and are looked at together: their addresses may have their share."""


class AnswersRoom(Protocol):
    """The memory for answers (memory_limits.py)."""

    @property
    def answers_full(self) -> bool:
        """True while no answer may be added."""

    def host_answers_full(self, use: Any) -> bool:
        """Whether an address has its share of it."""


class _Wide(NamedTuple):
    """An answer to be encoded in a thread, and what is called when that is over."""

    work: ThreadAnswer
    offload: Offload
    done: Callable[[Exception | None], None]


class WideAnswers:
    """The wide answers of all connections."""

    __slots__ = ("_encoded", "_lines", "_memory", "_waiting", "make_room")

    def __init__(self, memory: AnswersRoom) -> None:
        self._memory = memory
        self._encoded: set[Call[Any]] = set()
        self._lines: dict[int, OneByOne] = {}
        self._waiting: dict[Call[Any], _Wide] = {}
        self.make_room: Callable[[], None] = lambda: None
        """Is called when an answer has to wait."""

    def __len__(self) -> int:
        """Return the number of answers that wait."""
        return len(self._waiting)

    def made(self, api_key: int, steps: WaitingSteps) -> WaitingSteps:
        """Take the steps that make an answer once no other of the API is being made, and none waits for room.

        It is for answers that may be far larger than their requests.
        """
        line = self._lines.get(api_key)
        if line is None:
            line = self._lines[api_key] = OneByOne(lambda: not self._waiting)
        return line.steps(steps)

    def line_length(self, api_key: int) -> int:
        """Return the number of answers to the API that wait to be made."""
        return len(self._lines.get(api_key, ()))

    def add(
        self, call: Call[Any], work: ThreadAnswer, offload: Offload, done: Callable[[Exception | None], None]
    ) -> None:
        """Have the answer to the call encoded once there is room; then `done` is called, on the loop."""
        self._waiting[call] = _Wide(work, offload, done)
        self.go_on()
        if call in self._waiting:
            self.make_room()

    def forget(self, call: Call[Any]) -> None:
        """Free an answer that waits, in a thread, as its client has left."""
        wide = self._waiting.pop(call, None)
        if wide is not None:
            wide.offload(wide.work.free, wide.done)
            self._wake()

    def go_on(self) -> None:
        """Begin with answers that waited, if there is room now."""
        self._begin_some()
        self._wake()

    def _wake(self) -> None:
        if not self._waiting:
            for line in self._lines.values():
                line.wake()

    def _begin_some(self) -> None:
        for call in tuple(islice(self._waiting, LOOKED_AT_MAX)):
            if len(self._encoded) >= ENCODED_AT_ONCE or self._memory.answers_full:
                return
            wide = self._waiting.pop(call, None)
            connection: Any = call.connection
            if wide is None:
                continue  # the end of one before has begun with it
            if connection.closed:
                wide.offload(wide.work.free, wide.done)
            elif self._memory.host_answers_full(connection.use):
                self._waiting[call] = wide  # behind those of other addresses
            else:
                self._begin(call, wide)

    def _begin(self, call: Call[Any], wide: _Wide) -> None:
        self._encoded.add(call)

        def done(error: Exception | None) -> None:
            self._encoded.discard(call)
            try:
                wide.done(error)
            finally:
                self.go_on()

        try:
            wide.offload(wide.work.encode, done)
        except Exception:
            # No thread could be started: the others must not wait for the end of this one.
            self._encoded.discard(call)
            raise
