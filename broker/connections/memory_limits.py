"""The memory that clients' requests and answers may take: of a connection, of an address, and in all.

    requests   unanswered ones, decoded, with what their handlers keep; and those that are still arriving
    answers    those that their readers have not taken yet, without bytes sent straight from a file

Above a limit, reading stops; nothing is dropped.  Above its own limit, a connection is not read.  Above the
share of its address, no connection from there is read; above the limit for all, none is.  Exceptions keep
the others going:

    the floor   the one whose request began first may finish it, however large: were all held back, memory
                full of unfinished requests would stay full for ever; and so may the one whose turn it is to
                have a heavy request in work, as the floor may be waiting for that turn
    reserve     connections that hold nothing are read until a quarter more than the limit is taken: small
                requests go on while large ones fill the memory, or are left in it
    proven      those that have sent only small requests for a while have a second reserve of the same size:
                the first may be filled by large requests of connections that held nothing, too
    heavy       of requests that decode to more than a connection may hold, one is in work at a time, and what
                it takes above that does not count against others; while the limit is reached, this is so for
                all large ones, as what they decode to is known only then

A wide answer is encoded when there is room for it (wide_answers.py).  Memory that its holders do not give
back is taken back by connection_reaper.py.
Source: Kafka's queued.max.request.bytes (KIP-72), whose pool also lets one request more in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from broker.connections.wide_answers import WideAnswers

if TYPE_CHECKING:
    from broker.config.config import Config

UNLIMITED: Final = 2**63

ANSWERS_FACTOR_MAX: Final = 2
"""Above this many times the limit for answers, no connection is read at all."""

RESERVE_SHARE: Final = 4
"""On top of the limit for requests, one part in this many is reserved for connections that hold nothing, and
another one for those of them that are proven."""

PROVEN_REQUESTS: Final = 8
"""Small requests in a row after which a connection is expected to send only such: it takes them a round trip
each, or all their answers."""

HEAVY_FRAME_BYTES: Final = 256 << 10
"""A smaller request does not wait for a heavy one: it decodes to a few times what a connection may hold."""

FETCH_ROOM_BYTES_MIN: Final = 64 << 10
"""A fetch may always return this much, so that fast readers go on while slow ones hold the memory."""


class Holder(Protocol):
    """A connection, as far as memory is concerned."""

    @property
    def use(self) -> HostUse[Any]:
        """The sums of its address."""

    @property
    def outgoing(self) -> Collection[Any]:
        """The buffers to be sent."""

    @property
    def request_bytes(self) -> int:
        """The memory of its unanswered requests."""

    @property
    def proven(self) -> bool:
        """Whether it has sent only small requests for a while."""

    @property
    def unfinished_bytes(self) -> int:
        """The received bytes of a request that is still arriving."""

    def rested(self) -> None:
        """Serve requests again."""


HolderT = TypeVar("HolderT", bound=Holder)


class HostUse(Generic[HolderT]):
    """The memory that the connections from one address hold."""

    __slots__ = ("answers_bytes", "connection_count", "host", "requests_bytes", "unfinished")

    def __init__(self, host: str) -> None:
        self.host = host
        self.connection_count = 0
        self.requests_bytes = 0
        self.answers_bytes = 0
        # Connections in the middle of a request, in the order in which their requests began.
        self.unfinished: dict[HolderT, None] = {}

    @property
    def floor(self) -> HolderT | None:
        """The connection that may finish its request although the address has its share."""
        return next(iter(self.unfinished), None)


class MemoryLimits(Generic[HolderT]):
    """The limits and their use; shared by all connections of a broker."""

    __slots__ = (
        "answers_bytes",
        "answers_bytes_max",
        "connection_answers_bytes_max",
        "connection_bytes_max",
        "connection_requests_max",
        "heavy",
        "heavy_decoding",
        "heavy_excess_bytes",
        "heavy_next",
        "heavy_waiting",
        "held_back",
        "host_answers_bytes_max",
        "host_requests_bytes_max",
        "hosts",
        "requests_bytes",
        "requests_bytes_max",
        "unfinished",
        "wide",
    )

    def __init__(self, config: Config) -> None:
        self.wide = WideAnswers(self)
        self.requests_bytes = 0
        self.answers_bytes = 0
        # The connection with a heavy request in work, what that takes above the limit, and those that wait.
        self.heavy: HolderT | None = None
        self.heavy_excess_bytes = 0
        self.heavy_waiting: dict[HolderT, Callable[[], None]] = {}
        # The one whose turn it is, until it was served: others may be quicker, and go before it for ever.
        self.heavy_next: HolderT | None = None
        # True: it is still being decoded, and what it will take is not known.
        self.heavy_decoding = False
        # Connections in the middle of a request, in the order in which their requests began.
        self.unfinished: dict[HolderT, None] = {}
        self.hosts: dict[str, HostUse[HolderT]] = {}
        # How often a connection was not read because of what others hold.
        self.held_back = 0
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Apply changed limits."""
        self.connection_bytes_max = config.kawal_connection_in_flight_bytes
        self.connection_requests_max = config.kawal_connection_in_flight_requests
        self.connection_answers_bytes_max = config.kawal_connection_unsent_bytes
        self.requests_bytes_max = _bound(config.queued_max_request_bytes)
        self.answers_bytes_max = _bound(config.kawal_queued_max_response_bytes)
        share = config.kawal_memory_share_per_ip
        self.host_requests_bytes_max = int(self.requests_bytes_max * share)
        self.host_answers_bytes_max = int(self.answers_bytes_max * share)
        self.wide.go_on()

    # --- addresses --------------------------------------------------------------------------------------

    def enter(self, host: str) -> HostUse[HolderT]:
        """Return the sums of an address, for one connection more."""
        use = self.hosts.get(host)
        if use is None:
            use = self.hosts[host] = HostUse(host)
        use.connection_count += 1
        return use

    def leave(self, use: HostUse[HolderT]) -> None:
        """Forget a connection, which holds nothing any more."""
        use.connection_count -= 1
        if not use.connection_count:
            del self.hosts[use.host]

    def full_hosts(self) -> set[HostUse[HolderT]]:
        """Return the addresses whose connections are held back: all of them while memory is full."""
        return {use for use in self.hosts.values() if self.full or self.host_full(use)}

    def host_full(self, use: HostUse[HolderT]) -> bool:
        """Whether the address has its share of the memory for requests or answers."""
        return self.host_requests_full(use) or self.host_answers_full(use)

    def host_answers_full(self, use: HostUse[HolderT]) -> bool:
        """Whether the address has its share of the memory for answers."""
        return use.answers_bytes >= self.host_answers_bytes_max

    def host_requests_full(self, use: HostUse[HolderT]) -> bool:
        """Whether the address has its share of the memory for requests."""
        return self._host_over_bytes(use) >= 0

    # --- all --------------------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """True while requests or answers take more memory than they may."""
        return self.requests_full or self.answers_full

    @property
    def requests_full(self) -> bool:
        """True while no request may be added."""
        return self._requests_over_bytes >= 0

    @property
    def _requests_over_bytes(self) -> int:
        """The requests in memory above the limit, without the excess of the heavy one."""
        return self.requests_bytes - self.heavy_excess_bytes - self.requests_bytes_max

    def _host_over_bytes(self, use: HostUse[HolderT]) -> int:
        """Return the same for an address and its share."""
        over_bytes = use.requests_bytes - self.host_requests_bytes_max
        is_heavy = self.heavy is not None and self.heavy.use is use
        return over_bytes - self.heavy_excess_bytes if is_heavy else over_bytes

    @property
    def answers_full(self) -> bool:
        """True while no answer may be added."""
        return self.answers_bytes >= self.answers_bytes_max

    @property
    def floor(self) -> HolderT | None:
        """The connection that may finish its request, however full memory is."""
        return next(iter(self.unfinished), None)

    @property
    def tight(self) -> bool:
        """True while some connection may have to be held back: one address could have its share."""
        return (
            self.requests_bytes >= self.host_requests_bytes_max
            or self.answers_bytes >= self.host_answers_bytes_max
        )

    def holds_back(self, connection: HolderT) -> bool:
        """Whether nothing may be read from the connection because of what all connections hold."""
        use = connection.use
        if (self.answers_full or self.host_answers_full(use)) and (
            connection.outgoing or self.answers_bytes >= ANSWERS_FACTOR_MAX * self.answers_bytes_max
        ):
            return True
        if self.requests_full:
            floor, over_bytes, limit = self.floor, self._requests_over_bytes, self.requests_bytes_max
        elif self.host_requests_full(use):
            floor, over_bytes, limit = use.floor, self._host_over_bytes(use), self.host_requests_bytes_max
        else:
            return False
        if connection is floor or connection is self.heavy_next:
            return False
        holds_nothing = not connection.request_bytes and not connection.unfinished_bytes
        reserves = 2 if connection.proven else 1
        return not holds_nothing or over_bytes >= reserves * limit // RESERVE_SHARE

    def fetch_room_bytes(self, use: HostUse[HolderT]) -> int:
        """Return the most that a fetch from the address should return now."""
        room = min(
            self.answers_bytes_max - self.answers_bytes, self.host_answers_bytes_max - use.answers_bytes
        )
        return max(room, FETCH_ROOM_BYTES_MIN)

    # --- heavy requests ---------------------------------------------------------------------------------

    def begin_heavy(self, connection: HolderT) -> None:
        """Note that the connection has a request in work that takes more than a connection may hold."""
        if self.heavy is None:
            self.heavy = connection

    def may_be_heavy(self, connection: HolderT) -> bool:
        """Whether its next request may be heavy: none is in work, and no other connection has its turn."""
        first = self.heavy_next if self.heavy is None else self.heavy
        return first is None or first is connection

    def decode_heavy(self, connection: HolderT, decode: Callable[[], None]) -> None:
        """Call `decode`, which begins to decode a request that may be heavy, once no other one is in work.

        `decoded_heavy` follows, or `end_heavy`.
        """

        def begin() -> None:
            self.heavy, self.heavy_decoding, self.heavy_next = connection, True, None
            decode()

        if self.heavy is None and self.may_be_heavy(connection):
            begin()
        else:
            self.heavy_waiting[connection] = begin

    def decoded_heavy(self, connection: HolderT) -> None:
        """Note that the connection's decoded request has been weighed."""
        if self.heavy is connection and self.heavy_decoding:
            self.heavy_decoding = False
            if not (self.heavy_excess_bytes or self._crowded(connection)):
                self.end_heavy()

    def account_heavy(self, requests_bytes: int) -> None:
        """Note what the connection with the heavy request holds now."""
        self.heavy_excess_bytes = max(0, requests_bytes - self.connection_bytes_max)
        if self.heavy_excess_bytes or self.heavy_decoding:
            return
        if requests_bytes < HEAVY_FRAME_BYTES or self.heavy is None or not self._crowded(self.heavy):
            self.end_heavy()

    def _crowded(self, connection: HolderT) -> bool:
        return self.requests_full or self.host_requests_full(connection.use)

    def end_heavy(self) -> None:
        """Let the connection that has waited for longest have its heavy request in work."""
        self.heavy, self.heavy_excess_bytes, self.heavy_decoding = None, 0, False
        self.heavy_next = next(iter(self.heavy_waiting), None)
        if self.heavy_next is not None:
            self.heavy_waiting.pop(self.heavy_next)()

    def had_heavy_turn(self, connection: HolderT) -> None:
        """Note that the connection was served, or has left: if it was its turn, another may begin."""
        if self.heavy_next is connection:
            self.heavy_next = None
            if self.heavy is None:
                self.end_heavy()

    def leave_heavy(self, connection: HolderT) -> None:
        """Forget a connection that has left."""
        self.heavy_waiting.pop(connection, None)
        self.had_heavy_turn(connection)


def _bound(limit: int) -> int:
    return UNLIMITED if limit < 0 else limit
