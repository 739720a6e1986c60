"""The memory that clients' requests and answers may take, per connection and in all.

    requests   unanswered ones, and the received bytes of requests that are still arriving
    answers    those that their readers have not taken yet, without bytes sent straight from a file

Above a limit, reading stops; nothing is dropped.  Above its own limit, a connection is not read.  Above the
limit for all, no connection that would add to it is read, except the one with the floor: the one whose
request began first may finish it, however large.  Were all held back, memory full of unfinished requests
would stay full for ever.  A reserve is kept for connections that take no memory yet: small requests go on
while large ones fill the memory, or are left in it.

Memory that its holders do not give back is taken back by connection_reaper.py.
Source: Kafka's queued.max.request.bytes (KIP-72), whose pool also lets one request more in.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from broker.config.config import Config

UNLIMITED: Final = 2**63

ANSWERS_FACTOR_MAX: Final = 2
"""Above this many times the limit for answers, no connection is read at all."""

RESERVE_SHARE: Final = 8
"""On top of the limit for requests, one part in this many is reserved for connections that hold nothing."""

FETCH_ROOM_BYTES_MIN: Final = 64 << 10
"""A fetch may always return this much, so that fast readers go on while slow ones hold the memory."""


class Holder(Protocol):
    """A connection, as far as memory is concerned."""

    @property
    def outgoing(self) -> Collection[Any]:
        """The buffers to be sent."""

    @property
    def request_bytes(self) -> int:
        """The size of its unanswered requests."""

    @property
    def unfinished_bytes(self) -> int:
        """The received bytes of a request that is still arriving."""


HolderT = TypeVar("HolderT", bound=Holder)


class MemoryLimits(Generic[HolderT]):
    """The limits and their use; shared by all connections of a broker."""

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
        # Connections in the middle of a request, in the order in which their requests began.
        self.unfinished: dict[HolderT, None] = {}
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Apply changed limits."""
        self.connection_bytes_max = config.kawal_connection_in_flight_bytes
        self.connection_requests_max = config.kawal_connection_in_flight_requests
        self.connection_answers_bytes_max = config.kawal_connection_unsent_bytes
        self.requests_bytes_max = _bound(config.queued_max_request_bytes)
        self.answers_bytes_max = _bound(config.kawal_queued_max_response_bytes)

    @property
    def full(self) -> bool:
        """True while requests or answers take more memory than they may."""
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
        """The connection that may finish its request, however full memory is."""
        return next(iter(self.unfinished), None)

    def holds_back(self, connection: HolderT) -> bool:
        """Whether nothing may be read from the connection because of what all connections hold."""
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
        """Return the most that a fetch should return now."""
        return max(self.answers_bytes_max - self.answers_bytes, FETCH_ROOM_BYTES_MIN)


def _bound(limit: int) -> int:
    return UNLIMITED if limit < 0 else limit
