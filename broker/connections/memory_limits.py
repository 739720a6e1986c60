"""The memory that clients' requests and answers may take, one connection's and all together.

    requests   unanswered ones, and the bytes there are of requests that are still arriving
    answers    those that their readers have not taken yet, without what is sent straight from a file

Above a limit reading stops; nothing is dropped.  Above a connection's own limit that connection is not read.
Above the limit for all, no connection is read that would add to it, except the one with the floor: it may
finish its request, however large, and is the one whose request began first.  Were all of them held back,
memory full of unfinished requests would stay full for ever.  A reserve is kept for connections that take no
memory yet: small requests go on while large ones fill the memory, or are left in it.

Memory that its owners do not give back is taken back by connection_reaper.py.
Source: Kafka's queued.max.request.bytes (KIP-72), whose pool also lets one request more in.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from broker.config.config import Config

UNLIMITED: Final = 2**63

ANSWERS_FACTOR_MAX: Final = 2
"""Above this many times the limit for answers no connection is read at all."""

RESERVE_SHARE: Final = 8
"""On top of the limit for requests, one part in so many is there for connections that hold nothing yet."""

FETCH_ROOM_BYTES_MIN: Final = 64 << 10
"""A fetch may always return this much, so that good readers go on while slow ones hold the memory."""


class Holder(Protocol):
    """A connection, as far as its memory goes."""

    @property
    def outgoing(self) -> Collection[Any]:
        """What is to be sent."""

    @property
    def request_bytes(self) -> int:
        """The size of its unanswered requests."""

    @property
    def unfinished_bytes(self) -> int:
        """What there is of a request that is still arriving."""


HolderT = TypeVar("HolderT", bound=Holder)


class MemoryLimits(Generic[HolderT]):
    """The limits and what is used of them; shared by all connections of a broker."""

    __slots__ = (
        "answers_bytes",
        "answers_bytes_max",
        "connection_answers_bytes_max",
        "connection_bytes_max",
        "connection_requests_max",
        "requests_bytes",
        "requests_bytes_max",
        "unfinished",
    )

    def __init__(self, config: Config) -> None:
        self.requests_bytes = 0
        self.answers_bytes = 0
        # Connections in the middle of a frame, in the order in which their frames began.
        self.unfinished: dict[HolderT, None] = {}
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Take over changed limits."""
        self.connection_bytes_max = config.kawal_connection_in_flight_bytes
        self.connection_requests_max = config.kawal_connection_in_flight_requests
        self.connection_answers_bytes_max = config.kawal_connection_unsent_bytes
        self.requests_bytes_max = _bound(config.queued_max_request_bytes)
        self.answers_bytes_max = _bound(config.kawal_queued_max_response_bytes)

    @property
    def full(self) -> bool:
        """True while requests or answers weigh more than they may."""
        return self.requests_full or self.answers_full

    @property
    def requests_full(self) -> bool:
        """True while no request may be added."""
        return self.requests_bytes >= self.requests_bytes_max

    @property
    def answers_full(self) -> bool:
        """True while no answer may be added."""
        return self.answers_bytes >= self.answers_bytes_max

    @property
    def floor(self) -> HolderT | None:
        """The connection that may finish its frame whatever there is."""
        return next(iter(self.unfinished), None)

    def holds_back(self, connection: HolderT) -> bool:
        """Whether nothing may be read from the connection, because of what all of them hold."""
        if self.answers_full and (
            connection.outgoing or self.answers_bytes >= ANSWERS_FACTOR_MAX * self.answers_bytes_max
        ):
            return True
        if not self.requests_full or connection is self.floor:
            return False
        holds_nothing = not connection.request_bytes and not connection.unfinished_bytes
        return not (holds_nothing and self._has_reserve)

    @property
    def _has_reserve(self) -> bool:
        return self.requests_bytes < self.requests_bytes_max + self.requests_bytes_max // RESERVE_SHARE

    def fetch_room_bytes(self) -> int:
        """The most that a fetch should return now."""
        return max(self.answers_bytes_max - self.answers_bytes, FETCH_ROOM_BYTES_MIN)


def _bound(limit: int) -> int:
    return UNLIMITED if limit < 0 else limit
