"""Steps that take much memory are taken one after another, in the order in which they came."""

from __future__ import annotations

from collections.abc import Callable

from broker.loop.slices import Until, WaitingSteps


class OneByOne:
    """A line of steps: those behind the first wait, and hold nothing but what they were made of."""

    __slots__ = ("_is_busy", "_may_begin", "_waiting")

    def __init__(self, may_begin: Callable[[], bool] = lambda: True) -> None:
        """`may_begin`: whether the next may begin; when that changes, `wake` is called."""
        self._may_begin = may_begin
        self._is_busy = False
        self._waiting: dict[object, Callable[[], None]] = {}

    def __len__(self) -> int:
        """Return the number of those that wait."""
        return len(self._waiting)

    def steps(self, steps: WaitingSteps) -> WaitingSteps:
        """Take the steps when it is their turn, and return what they return."""
        while self._is_busy or not self._may_begin():
            yield from self._wait()
        self._is_busy = True
        try:
            return (yield from steps)
        finally:
            self._is_busy = False
            self.wake()

    def _wait(self) -> WaitingSteps:
        place = object()
        is_woken = False
        try:
            yield Until(lambda resume: self._waiting.__setitem__(place, resume))
            is_woken = True
        finally:
            # Its client may leave while it waits, or when it was woken and has not gone on yet.
            if self._waiting.pop(place, None) is None and not is_woken:
                self.wake()

    def wake(self) -> None:
        """Let the next go on, if it may."""
        if self._waiting and not self._is_busy and self._may_begin():
            self._waiting.pop(next(iter(self._waiting)))()
