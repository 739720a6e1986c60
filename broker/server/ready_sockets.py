"""The sockets that are ready, in the order in which they are served: those with short work first.

A client that asks for little should not wait for others that ask for much, nor for a crowd that comes or
goes, or asks for something for the first time.  What a client will ask for is not known before it is served,
so its past decides (a feedback queue with four levels):

    prompt  has asked for little, time after time               some each turn, then by time
    short   took little when it was last served                 the same, after those
    edge    was not served yet, or has left                     the same, with a share of its own
    long    takes long, and has no credit left                  the same

Each service that took little earns a client credit, and one that took long costs it: a pause of the garbage
collector or a single larger request does not send a client to the end of a line of thousands.  What slices of
its answers have taken since (broker/loop/scheduler.py) counts with the next service.

Within a level the order is that of readiness.  A socket stays there until it is served: each gets its turn,
whatever else becomes ready meanwhile.  Where a turn has no time for all short work, those come first in the
next one that have used the least of late: a client that asks now and then does not wait for a crowd that
always asks.

The kernel reports at most 1,024 sockets at a time, and with 10,000 of a crowd among them, ten turns would
pass before it comes to a client with a request.  So clients with credit for the level `prompt` have an epoll
of their own, which watches that of all others like one more socket, and each turn sees all of them.  What
comes or leaves in crowds, the level `edge`, is reported once and not watched until it is served.
"""

from __future__ import annotations

import select
from collections.abc import Mapping
from typing import Final

from broker.loop.turns import Turns
from broker.server.transport import Transport

EVENTS_PER_POLL: Final = 1024
"""The events taken of an epoll in a turn, in 0.1 ms.  The kernel goes round: ten turns see 10,000 sockets."""

BROKEN: Final = select.EPOLLHUP | select.EPOLLERR
"""Events that an epoll reports of every socket that it knows, asked for or not."""

LEFT: Final = select.EPOLLRDHUP | BROKEN

SILENT: Final = -1
"""The interest in a socket that was reported once, until it is served."""

UNWATCHED: Final = -2
"""The same of one that the epoll does not know meanwhile."""

LONG_NS: Final = 1_000_000
"""The processor time that a socket's work may take without being long."""

CREDIT_MAX: Final = 20
"""Services that took little, after which no more credit is earned."""

CREDIT_NS: Final = 250_000
"""The processor time of a long service that costs the credit of a short one: 5 ms cost all of it."""

PROMPT_CREDIT: Final = 8
"""The credit from which on a client is served first."""

WINDOW_BITS: Final = 26
"""What a client has used counts half as much after 2 to this power nanoseconds, 67 ms, and so on."""

SORTED_MAX: Final = 500
"""Sockets that are sorted by what their clients have used, in 0.2 ms; more are served as they come."""

WAITING: Final = 8
"""A share of a turn is processor time, as on a busy machine the shortest work takes a millisecond of waiting.
It ends, too, when waiting has made it this many times as long."""

Level = dict[int, int]
"""Descriptors and events, the longest ready first."""


class ServiceClock:
    """The processor time that services take, told with few looks at its clock.

    A look is a system call of 2 µs, a fifth of all that a small request needs, and most services end sooner
    than could be long: by the steady clock, which tells no less.  Only of those that do not is the processor
    time asked for: beside busy threads, the shortest work takes a millisecond of waiting.  Then all that the
    turn has used since the last look counts, without the time that other services took meanwhile, waiting
    included: rather too little than too much.
    """

    __slots__ = ("_looked_cpu_ns", "_looked_ns", "_turn", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._turn = -1
        self._looked_ns = self._looked_cpu_ns = 0

    def took_ns(self, began_ns: int, now_ns: int) -> int:
        """Return the processor time of a service that ends now, or its duration if that was short."""
        duration_ns = now_ns - began_ns
        if duration_ns <= LONG_NS:
            return duration_ns
        turns = self._turns
        if turns.number != self._turn:
            self._turn = turns.number
            self._looked_ns, self._looked_cpu_ns = turns.began_ns, turns.began_cpu_ns
        cpu_ns = turns.cpu_ns()
        took_ns = cpu_ns - self._looked_cpu_ns - (began_ns - self._looked_ns)
        self._looked_ns, self._looked_cpu_ns = now_ns, cpu_ns
        return max(0, took_ns)


def _stop_watching(transport: Transport, descriptor: int, mask: int) -> None:
    """Have its epoll report a socket no more, until `Sockets.watch` wants to know of it again."""
    if mask & BROKEN:
        transport.epoll.unregister(descriptor)
        transport.interest = UNWATCHED
    else:
        transport.epoll.modify(descriptor, 0)
        transport.interest = SILENT


def _used_ns(transport: Transport, window: int) -> int:
    """Return the processor time that a client has used of late."""
    return transport.used_ns >> min(window - transport.used_window, 63)


class ReadySockets:
    """The events that the epoll has reported and the reactor has not served yet."""

    __slots__ = (
        "_crowd",
        "_crowd_descriptor",
        "_epoll",
        "_turns",
        "edge",
        "long",
        "others",
        "prompt",
        "short",
    )

    def __init__(self, epoll: select.epoll, crowd: select.epoll, turns: Turns | None = None) -> None:
        """`epoll` is to watch clients with credit, and `crowd`, which is to watch all others."""
        self._turns = turns or Turns()
        self._epoll = epoll
        self._crowd = crowd
        self._crowd_descriptor = crowd.fileno()
        # Listeners, and the threads' event.
        self.others: Level = {}
        self.prompt: Level = {}
        self.short: Level = {}
        self.edge: Level = {}
        self.long: Level = {}

    def __bool__(self) -> bool:
        return bool(self.others or self.prompt or self.short or self.edge or self.long)

    def poll(self, transports: Mapping[int, Transport], seconds: float = 0) -> bool:
        """Ask the epoll for more: every turn, so that no client waits unseen behind a crowd.

        Wait for so long while there is nothing; return whether there was anything.
        """
        prompt_left, short_left = bool(self.prompt), bool(self.short)
        events = self._epoll.poll(seconds, EVENTS_PER_POLL)
        if self._take(events, transports):
            self._take(self._crowd.poll(0, EVENTS_PER_POLL), transports)
        if prompt_left:
            self.prompt = self._by_use(self.prompt, transports)
        if short_left:
            self.short = self._by_use(self.short, transports)
        return bool(events)

    def _by_use(self, level: Level, transports: Mapping[int, Transport]) -> Level:
        """Sort a level for which the last turn had no time: who has used the least comes first."""
        if not 1 < len(level) <= SORTED_MAX:
            return level
        window = self._turns.began_ns >> WINDOW_BITS
        return dict(sorted(level.items(), key=lambda entry: _used_ns(transports[entry[0]], window)))

    def _take(self, events: list[tuple[int, int]], transports: Mapping[int, Transport]) -> bool:
        """Put what is ready on its level; return whether the crowd is among it."""
        is_crowd = False
        for descriptor, mask in events:
            transport = transports.get(descriptor)
            if transport is None:
                if descriptor == self._crowd_descriptor:
                    is_crowd = True
                else:
                    self.others[descriptor] = mask
            elif transport.new or mask & LEFT:
                if descriptor not in self.edge:
                    self.edge[descriptor] = mask
                    _stop_watching(transport, descriptor, mask)
            else:
                self._level(transport).setdefault(descriptor, mask)
        return is_crowd

    def judge(self, transport: Transport, took_ns: int) -> None:
        """Note the processor time that serving a socket has taken."""
        window = self._turns.began_ns >> WINDOW_BITS
        transport.used_ns = _used_ns(transport, window) + took_ns
        transport.used_window = window
        if took_ns <= LONG_NS:
            transport.credit = min(CREDIT_MAX, transport.credit + 1)
            transport.long = False
            if transport.credit >= PROMPT_CREDIT and transport.epoll is not self._epoll:
                self._move(transport, self._epoll)
        else:
            transport.credit = max(0, transport.credit - took_ns // CREDIT_NS)
            transport.long = not transport.credit
            if transport.long and transport.epoll is not self._crowd:
                self._move(transport, self._crowd)

    @staticmethod
    def _move(transport: Transport, epoll: select.epoll) -> None:
        """Have another epoll watch a socket, unless that is closed or not watched at present."""
        if transport.interest >= 0 and not transport.connection.closed:
            transport.epoll.unregister(transport.fileno())
            epoll.register(transport.fileno(), transport.interest)
            transport.epoll = epoll

    def _level(self, transport: Transport) -> Level:
        if transport.long:
            return self.long
        return self.prompt if transport.credit >= PROMPT_CREDIT else self.short

    def resume(self, transport: Transport) -> None:
        """Have the requests served that are left in a connection's buffer."""
        self._level(transport).setdefault(transport.fileno(), 0)

    @staticmethod
    def first(level: Level) -> tuple[int, int]:
        """Take the socket of a level that has waited longest."""
        descriptor = next(iter(level))
        return descriptor, level.pop(descriptor)

    def forget(self, descriptor: int) -> None:
        """Forget a socket that is closed: its number may be given to another."""
        for level in (self.prompt, self.short, self.edge, self.long):
            level.pop(descriptor, None)
