"""The sockets that are ready, in the order in which they are served: those with short work first.

A client that asks for little should not wait for others that ask for much, nor for a crowd that has just
connected.  What a client will ask for is not known before it is served, so the last time decides (a feedback
queue with three levels):

    short   took at most LONG_NS when it was last served       all of them, each turn
    new     was not served yet                                  at least one each turn, then by time
    long    took more                                           the same

Within a level the order is that of readiness.  A socket in `new` or `long` stays there until it is served:
each gets its turn, whatever else becomes ready meanwhile.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Mapping
from typing import Final

from broker.server.transport import Transport

EVENTS_PER_POLL: Final = 512

LONG_NS: Final = 1_000_000
"""The time that a socket's work may take without being long."""


class ReadySockets:
    """The events that the epoll has reported and the reactor has not served yet."""

    __slots__ = ("_epoll", "long", "new", "poll_number", "short")

    def __init__(self, epoll: select.epoll) -> None:
        self._epoll = epoll
        self.poll_number = 0
        # Descriptors and events, also of listeners and of the threads' event.
        self.short: deque[tuple[int, int]] = deque()
        self.new: dict[int, int] = {}
        self.long: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self.short or self.new or self.long)

    def poll(self, transports: Mapping[int, Transport]) -> None:
        """Ask the epoll for more, unless short work is left from the last time."""
        if self.short:
            return
        self.poll_number += 1
        for descriptor, mask in self._epoll.poll(0, EVENTS_PER_POLL):
            transport = transports.get(descriptor)
            if transport is None or not (transport.new or transport.long):
                self.short.append((descriptor, mask))
            else:
                (self.new if transport.new else self.long).setdefault(descriptor, mask)

    def resume(self, transport: Transport) -> None:
        """Have the requests served that are left in a connection's buffer, as long work."""
        self.long.setdefault(transport.fileno(), 0)

    @staticmethod
    def first(level: dict[int, int]) -> tuple[int, int]:
        """Take the socket of `new` or `long` that has waited longest."""
        descriptor = next(iter(level))
        return descriptor, level.pop(descriptor)

    def forget(self, descriptor: int) -> None:
        """Forget a socket that is closed: its number may be given to another."""
        self.new.pop(descriptor, None)
        self.long.pop(descriptor, None)
