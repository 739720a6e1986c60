"""How much clients' requests and answers may weigh, one connection's and all together: reading stops, nothing
is dropped.

    requests   unanswered ones, and the bytes there are of frames that are still coming in
    answers    those that their readers have not taken yet, without what is sent straight from a file

Above a connection's own limit that connection is not read.  Above the limit for all, nobody is read who would
add to it; one connection has the floor and may finish its frame, however large: the one that began first.
Were all of them held back, memory full of unfinished frames would stay full for ever.  A reserve is kept for
connections that hold nothing yet: small requests go on while large ones fill the memory, or are left in it.

What lets go of memory that its owners do not give back: broker/connections/connection_reaper.py.
Source: Kafka's queued.max.request.bytes (KIP-72), whose pool also lets one request more in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker.config.config import Config
    from broker.connections.connection import Connection

UNLIMITED: Final = 2**63

ANSWERS_FACTOR_MAX: Final = 2
"""Above this many times the limit for answers nobody is read at all, whoever is to blame."""

RESERVE_SHARE: Final = 8
"""On top of the limit for requests, one part in so many is there for connections that hold nothing yet."""

FETCH_ROOM_BYTES_MIN: Final = 64 << 10
"""A fetch may always return this much, so that good readers go on while slow ones hold the memory."""


class MemoryLimits:
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
        self.unfinished: dict[Connection, None] = {}
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
    def floor(self) -> Connection | None:
        """The connection that may finish its frame whatever there is."""
        return next(iter(self.unfinished), None)

    def holds_back(self, connection: Connection) -> bool:
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
