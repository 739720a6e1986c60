"""Waiting for one thing, no longer than until a given moment."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from broker.loop.slices import Until
from broker.loop.timers import Timer, Timers

Value = TypeVar("Value")


class Latch(Generic[Value]):
    """A value that comes once, or never; later ones are ignored."""

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._resume: Callable[[], None] | None = None

    def set(self, value: Value) -> None:
        """Give the value."""
        if not self._values:
            self._values.append(value)
            self._go_on()

    def _go_on(self, _now_ms: int = 0) -> None:
        resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    def wait(self, timers: Timers, until_ms: int) -> Generator[Until, None, list[Value]]:
        """Return the value, alone in a list; the list is empty if it has not come by this moment."""
        timer: list[Timer] = []

        def start(resume: Callable[[], None]) -> None:
            if self._values:
                resume()
                return
            self._resume = resume
            timer.append(timers.add(until_ms, self._go_on))

        if not self._values:
            yield Until(start)
        for started in timer:
            started.cancel()
        return self._values[:1]
