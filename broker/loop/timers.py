"""Timers: actions of the broker that are due at a given moment, the nearest first."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

from broker.loop.internal_errors import ErrorPlace, InternalErrors

SWEEP_AFTER: Final = 64
"""Cancelled timers that stay in the heap before any are removed."""

SHARE_NS: Final = 1_000_000
"""The time that timers may take of a turn of the event loop; the last one may exceed it."""


def no_clock() -> int:
    """Return no time: where no clock is given, no time passes."""
    return 0


class Timer:
    """One moment and its action.  Cancelling it releases what the action refers to."""

    __slots__ = ("_action", "_timers")

    def __init__(self, timers: Timers, action: Callable[[int], None]) -> None:
        self._timers = timers
        self._action: Callable[[int], None] | None = action

    @property
    def is_over(self) -> bool:
        """True once it ran or was cancelled."""
        return self._action is None

    def run(self, now_ms: int) -> None:
        """Run the action, once."""
        action, self._action = self._action, None
        if action is not None:
            action(now_ms)

    def cancel(self) -> None:
        """Drop the action."""
        if self._action is not None:
            self._action = None
            self._timers.cancelled()


class Timers:
    """The timers of one broker, as a heap.

    Cancelled timers are removed once they are the larger part: clients may ask for waits of weeks and be
    answered in a millisecond, over and over.
    """

    def __init__(self, errors: InternalErrors) -> None:
        self._errors = errors
        self._heap: list[tuple[int, int, Timer]] = []
        self._order = count()
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def add(self, deadline_ms: int, action: Callable[[int], None]) -> Timer:
        """Run `action(now_ms)` in the first tick at or after `deadline_ms`."""
        timer = Timer(self, action)
        heappush(self._heap, (deadline_ms, next(self._order), timer))
        return timer

    def cancelled(self) -> None:
        """Count a timer that was cancelled; timers call it themselves."""
        self._cancelled += 1
        if self._cancelled > SWEEP_AFTER and 2 * self._cancelled > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].is_over]
            heapify(self._heap)
            self._cancelled = 0

    def next_deadline(self) -> int | None:
        """Return the nearest deadline, None when nothing waits."""
        heap = self._heap
        while heap and heap[0][2].is_over:
            heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else None

    def run_due(self, now_ms: int, clock_ns: Callable[[], int] = no_clock) -> None:
        """Run the actions whose time has come; one that raises is over, and the others run all the same.

        After SHARE_NS by `clock_ns` the others stay due, for the next turn.
        """
        ends_ns = clock_ns() + SHARE_NS
        while (deadline_ms := self.next_deadline()) is not None and deadline_ms <= now_ms:
            timer = heappop(self._heap)[2]
            try:
                timer.run(now_ms)
            except Exception as error:  # noqa: BLE001  (the net)
                self._errors.note(ErrorPlace.TIMER, f"the timer that was due at {deadline_ms} ms", error)
            if clock_ns() >= ends_ns:
                return
