"""The answers on their way out of one connection: a request counts when its answer has left."""

from __future__ import annotations

from typing import Any

from broker.loop.call import Call
from broker.loop.stats import Stats


class Departures:
    """The calls whose answers were given to the socket's side, but have not left yet, in order."""

    __slots__ = ("_calls", "_stats", "sent_bytes")

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self._calls: list[Call[Any]] = []
        # All bytes ever sent on the connection.
        self.sent_bytes = 0

    def add(self, call: Call[Any], *, size_bytes: int, unsent_bytes: int, now_ns: int) -> None:
        """Add a call whose answer is ready to be sent, as the last of `unsent_bytes`."""
        call.released_ns = now_ns
        call.response_bytes = size_bytes
        # The call may be kept for a while; its request must not be.
        call.request = None
        if size_bytes:
            call.ends_at = self.sent_bytes + unsent_bytes
            self._calls.append(call)
        else:
            self._stats.completed((call,), now_ns)

    def sent(self, size_bytes: int) -> None:
        """Count the calls whose answers have left with these bytes."""
        self.sent_bytes += size_bytes
        if self._calls:
            self._count(self.sent_bytes)

    def lost(self) -> None:
        """Count the calls whose answers do not leave any more."""
        if self._calls:
            self._count(self._calls[-1].ends_at)

    def _count(self, until_bytes: int) -> None:
        """Count the calls whose answers end at this one of all bytes, or before."""
        stats, calls = self._stats, self._calls
        if calls[-1].ends_at <= until_bytes:
            # As a rule all leave together.
            self._calls = []
            stats.completed(calls, stats.turns.clock_ns())
            return
        count = 0
        while calls[count].ends_at <= until_bytes:
            count += 1
        if count:
            stats.completed(calls[:count], stats.turns.clock_ns())
            del calls[:count]
