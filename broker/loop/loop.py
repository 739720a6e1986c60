"""The door to the event loop: time, turns, counters."""

from __future__ import annotations

from typing import Protocol

from broker.loop.clock import Clock
from broker.loop.scheduler import Scheduler
from broker.loop.stats import Stats
from broker.loop.timers import Timers
from broker.loop.waiters import Waiters


class Loop(Protocol):
    """What the broker offers to work that runs on its event loop."""

    @property
    def clock(self) -> Clock:
        """The time of this turn."""

    @property
    def timers(self) -> Timers:
        """Actions that are due at a moment."""

    @property
    def scheduler(self) -> Scheduler:
        """Long work, a slice at a time."""

    @property
    def waiters(self) -> Waiters:
        """Parked calls."""

    @property
    def stats(self) -> Stats:
        """Counters."""

    @property
    def stopping(self) -> bool:
        """True once the server is stopping: nothing new is begun."""
