"""The moment at which the event loop takes a turn although nothing has come.

It is told in the time of trio, as the deadline of a cancel scope, and in that of the turns' clock, by which
the loop waits on its own epoll.  Most turns ask for no earlier moment than those before them: what they ask
for is compared with what is set, in the broker's own time, and trio is not troubled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from broker.core import Broker
from broker.loop.internal_errors import ErrorPlace

NEVER: Final = 1 << 62
"""After every moment there will be, in ms or ns."""


class LoopTimer:
    """The timer of a reactor; it only moves to earlier moments, until it has gone off."""

    def __init__(self, broker: Broker, now_ms: Callable[[], int]) -> None:
        self._broker = broker
        self._now_ms = now_ms
        self._turns = broker.stats.turns
        self._scope: trio.CancelScope | None = None
        # The broker's deadline and the look at its logs for which it is set.
        self._due_ms = self._look_ns = NEVER
        # What the last turn has asked for.
        self._next_look_ns: int | None = None
        self.ends_ns = NEVER
        """When it goes off, by the clock of the turns."""

    async def run(self, tick: Callable[[], None]) -> None:
        """Call `tick` whenever it goes off, until cancelled."""
        while True:
            with trio.CancelScope() as self._scope:
                self.ends_ns = NEVER
                self.forget()
                self.set(self._next_look_ns)
                await trio.sleep_forever()
            with self._broker.internal_errors.net(ErrorPlace.LOOP, "the timers of the event loop"):
                tick()

    def forget(self) -> None:
        """Ask for all moments again: the broker's clock may have been set."""
        self._due_ms = self._look_ns = NEVER

    def set(self, look_ns: int | None) -> None:
        """Go off at the broker's next deadline, and at `look_ns`, when all its logs are asked for work.

        None: they have been asked just now, and their deadlines count, too.
        """
        self._next_look_ns = look_ns
        if self._scope is None:
            return
        due_ms = self._broker.next_deadline(of_logs=look_ns is None)
        if due_ms is not None and due_ms < self._due_ms:
            self._due_ms = due_ms
            self._move(self._scope, (due_ms - self._now_ms()) * 1_000_000)
        if look_ns is not None and look_ns < self._look_ns:
            self._look_ns = look_ns
            self._move(self._scope, look_ns - self._turns.clock_ns())

    def _move(self, scope: trio.CancelScope, left_ns: int) -> None:
        left_ns = max(0, left_ns)
        scope.deadline = min(scope.deadline, trio.current_time() + left_ns / 1e9)
        self.ends_ns = min(self.ends_ns, self._turns.clock_ns() + left_ns)
