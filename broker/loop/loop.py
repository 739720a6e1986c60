"""The interface to the event loop: time, turns, counters."""

from __future__ import annotations

from typing import Protocol

from broker.loop.clock import Clock
from broker.loop.internal_errors import InternalErrors
from broker.loop.scheduler import Scheduler
from broker.loop.stats import Stats
from broker.loop.timers import Timers
from broker.loop.waiters import Waiters


class Loop(Protocol):
    """The services that the broker offers to work on its event loop."""

    @property
    def clock(self) -> Clock:
        """The time of this turn."""

    @property
    def timers(self) -> Timers:
        """Actions that are due at a given moment."""

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
    def internal_errors(self) -> InternalErrors:
        """The net for errors of our own."""

    @property
    def stopping(self) -> bool:
        """True once the server is stopping: nothing new is started."""
