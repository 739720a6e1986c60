"""The sockets that are ready, in the order in which they are served: those with short work first.

A client that asks for little should not wait for others that ask for much, nor for a crowd that comes or
goes.  What a client will ask for is not known before it is served, so the last time decides (a feedback
queue with three levels):

    short   took at most LONG_NS when it was last served       all of them, each turn
    edge    was not served yet, or has left                     at least one each turn, then by time
    long    took more                                           the same

Within a level the order is that of readiness.  A socket in `edge` or `long` stays there until it is served:
each gets its turn, whatever else becomes ready meanwhile.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Mapping
from typing import Final

from broker.server.transport import Transport

EVENTS_PER_POLL: Final = 512

LEFT: Final = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR

LONG_NS: Final = 1_000_000
"""The processor time that a socket's work may take without being long."""


class ReadySockets:
    """The events that the epoll has reported and the reactor has not served yet."""

    __slots__ = ("_epoll", "edge", "long", "poll_number", "short")

    def __init__(self, epoll: select.epoll) -> None:
        self._epoll = epoll
        self.poll_number = 0
        # Descriptors and events, also of listeners and of the threads' event.
        self.short: deque[tuple[int, int]] = deque()
        self.edge: dict[int, int] = {}
        self.long: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self.short or self.edge or self.long)

    def poll(self, transports: Mapping[int, Transport]) -> None:
        """Ask the epoll for more, unless short work is left from the last time."""
        if self.short:
            return
        self.poll_number += 1
        for descriptor, mask in self._epoll.poll(0, EVENTS_PER_POLL):
            transport = transports.get(descriptor)
            if transport is None:
                self.short.append((descriptor, mask))
            elif transport.new or mask & LEFT:
                self.edge.setdefault(descriptor, mask)
            elif transport.long:
                self.long.setdefault(descriptor, mask)
            else:
                self.short.append((descriptor, mask))

    def resume(self, transport: Transport) -> None:
        """Have the requests served that are left in a connection's buffer, as long work."""
        self.long.setdefault(transport.fileno(), 0)

    @staticmethod
    def first(level: dict[int, int]) -> tuple[int, int]:
        """Take the socket of `edge` or `long` that has waited longest."""
        descriptor = next(iter(level))
        return descriptor, level.pop(descriptor)

    def forget(self, descriptor: int) -> None:
        """Forget a socket that is closed: its number may be given to another."""
        self.edge.pop(descriptor, None)
        self.long.pop(descriptor, None)
