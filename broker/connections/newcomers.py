"""The connections that are not ready for requests yet, of which there may be only so many.

A handshake that was begun takes 30 KB.  Above the limit the oldest one is closed: a crowd that begins
handshakes and does not finish them shortens the time that each gets, and takes no more memory.

Connections that have become ready, or have ended, are looked for once in a while only: between two looks up
to an eighth of the limit may be counted that are newcomers no more.
"""

from __future__ import annotations

from typing import Final

from broker.connections.connection import Connection
from broker.loop.stats import Cause

NEWCOMERS_MAX: Final = 1_000
"""About 30 MB; a processor finishes as many handshakes in a second."""

LOOKS: Final = 8
"""The looks at all of them while as many come as there may be."""


class Newcomers:
    """The newcomers of a server, the oldest first."""

    __slots__ = ("_before_look", "_limit", "_waiting")

    def __init__(self, limit: int = NEWCOMERS_MAX) -> None:
        self._limit = limit
        self._waiting: dict[Connection, None] = {}
        self._before_look = 0

    def enter(self, connection: Connection) -> None:
        """Add a connection; close the oldest one if there are too many."""
        self._waiting[connection] = None
        self._before_look -= 1
        if len(self._waiting) <= self._limit:
            return
        if self._before_look <= 0:
            self._before_look = self._limit // LOOKS
            self._waiting = {waiting: None for waiting in self._waiting if _is_newcomer(waiting)}
        while len(self._waiting) > self._limit:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            if _is_newcomer(oldest):
                oldest.abort("newer clients need the room of its unfinished handshake", Cause.SETUP)


def _is_newcomer(connection: Connection) -> bool:
    return connection.ready_by_ms is not None and not connection.closed
