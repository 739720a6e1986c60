"""Nodes that serve at another address than before, under the same id: a standby has taken their place.

A client that has lost its transaction coordinator asks for it again.  librdkafka (2.13, as tried) goes on to
connect to the old address although the answer has the new one: it compares ids alone, and takes addresses
from its metadata.  Told that there is no coordinator it forgets the old one, and when a connection ends it
asks for metadata.  So each connection is told once that the coordinator is not available, and ends if it is
older than the move.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol

TOLD_MS: Final = 600_000
"""The time for which connections are told of a move: after that no client looks for the old address."""


class Listener(Protocol):
    """A connection."""

    told_moves: int
    """Up to which move it was told of them."""

    @property
    def connected_ms(self) -> int:
        """When it was made, on the clock of the moves."""


class News(Enum):
    """The part of a move that a connection is to be told."""

    NONE = 0
    MOVED = 1
    MOVED_SINCE = 2
    """The node has moved since the connection was made."""


class Moves:
    """The moves that this process has seen."""

    __slots__ = ("_count", "_last")

    def __init__(self) -> None:
        self._count = 0
        self._last: dict[int, tuple[int, int]] = {}
        """The number and the moment of the last move of each node."""

    def note(self, node_id: int, now_ms: int) -> None:
        """Learn that a node serves at another address now."""
        self._count += 1
        self._last[node_id] = self._count, now_ms

    def news_for(self, connection: Listener, node_id: int, now_ms: int) -> News:
        """Return, once for each connection, that a node has moved."""
        number, moved_ms = self._last.get(node_id, (0, 0))
        if number <= connection.told_moves or now_ms - moved_ms > TOLD_MS:
            return News.NONE
        connection.told_moves = self._count
        return News.MOVED_SINCE if connection.connected_ms < moved_ms else News.MOVED
