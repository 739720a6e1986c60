"""The memory that one connection takes, and what follows from it: whether its client is read on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from broker.connections.client_record import ClientRecord
from broker.connections.memory_limits import PROVEN_REQUESTS, HostUse, MemoryLimits
from broker.loop.call import SMALL_BYTES, Call
from protocol.framing import RequestReader


class MeteredConnection:
    """The part of a connection that counts its requests and answers into the sums over all of them."""

    __slots__ = (
        "accounted_answers_bytes",
        "accounted_requests_bytes",
        "calls",
        "client",
        "closed",
        "large_at",
        "memory",
        "memory_bytes",
        "muted_until_ms",
        "outgoing_bytes",
        "reader",
        "request_bytes",
        "resting",
        "sliced_ns",
        "unanswered",
        "unfinished_bytes",
        "unfinished_since_ms",
        "use",
        "working",
    )

    def __init__(
        self,
        memory: MemoryLimits[Any],
        host: str,
        reader: RequestReader,
        now_ms: int,
        client: ClientRecord,
    ) -> None:
        self.memory = memory
        self.client = client
        # The number of its last request that was not small.
        self.large_at = 0
        # The sums of its address in `memory`.
        self.use: HostUse[Any] = memory.enter(host)
        self.reader = reader
        self.calls: deque[Call[Any]] = deque()
        # The requests that these calls stand for.
        self.unanswered = 0
        # The call that is answered in slices, and whether requests wait for the next turn.
        self.working: Call[Any] | None = None
        self.resting = False
        # The time that slices of its answers have taken since its socket was served last.
        self.sliced_ns = 0
        # Until when a client above its quota waits, by the monotonic clock; 0: it does not.
        self.muted_until_ms = 0
        self.request_bytes = 0
        self.outgoing_bytes = 0
        # The part of what is outgoing that is kept in memory.
        self.memory_bytes = 0
        # This connection's part of the sums in `memory`.
        self.accounted_requests_bytes = self.accounted_answers_bytes = 0
        # The bytes received of an incomplete request, and since when it is so; 0 bytes: there is none.
        self.unfinished_bytes = 0
        self.unfinished_since_ms = now_ms
        self.closed = False

    @property
    def saturated(self) -> bool:
        """True while nothing more may be read from the client: stop reading, never drop."""
        memory = self.memory
        return self.at_own_limit or (memory.tight and memory.holds_back(self))

    @property
    def at_own_limit(self) -> bool:
        """True while this connection has as much in work, or unsent, as a single one may have."""
        memory = self.memory
        return (
            self.working is not None
            or self.resting
            or self.muted_until_ms > 0
            or self.unanswered >= memory.connection_requests_max
            or self.request_bytes >= memory.connection_bytes_max
            or self.outgoing_bytes >= memory.connection_answers_bytes_max
        )

    @property
    def proven(self) -> bool:
        """Whether it has sent only small requests for a while."""
        return self.client.request_count - self.large_at >= PROVEN_REQUESTS

    @property
    def connected_ms(self) -> int:
        """When it was made, on the broker's clock."""
        return self.client.connected_ms

    def note_received(self, now_ms: int, *, served: bool) -> None:
        """Account for the bytes just received; `served`: they completed requests."""
        count = self.reader.pending_bytes
        if count != self.unfinished_bytes or (count and served):
            if served or not count or not self.unfinished_bytes:
                self.finished()
                if count:
                    self.unfinished_since_ms = now_ms
                    self.memory.unfinished[self] = self.use.unfinished[self] = None
            self.unfinished_bytes = count
        self.account()

    def finished(self) -> None:
        """Note that no request is half received any more."""
        self.memory.unfinished.pop(self, None)
        self.use.unfinished.pop(self, None)

    def weigh(self, call: Call[Any], size_bytes: int) -> None:
        """Count this much memory for an unanswered call from now on."""
        assert call.output is None, "an answered call holds nothing"
        added_bytes = size_bytes - call.weight_bytes
        call.weight_bytes = size_bytes
        if self.closed:
            return
        self.request_bytes += added_bytes
        if added_bytes > self.memory.connection_bytes_max:
            self.memory.begin_heavy(self)
        if added_bytes >= SMALL_BYTES:
            self.large_at = self.client.request_count
        if not -SMALL_BYTES < self.request_bytes - self.accounted_requests_bytes < SMALL_BYTES:
            self.account()

    def may_keep(self, size_bytes: int) -> bool:
        """Whether a waiting call may hold so much: if not, reading would stop for others, too."""
        memory, own_bytes = self.memory, self.accounted_requests_bytes
        return size_bytes <= SMALL_BYTES or (
            memory.requests_bytes - own_bytes + size_bytes <= memory.requests_bytes_max
            and self.use.requests_bytes - own_bytes + size_bytes <= memory.host_requests_bytes_max
        )

    def decode_heavy(self, decode: Callable[[], None]) -> None:
        """Call `decode` once no other request is in work that takes more than a connection may hold."""
        self.memory.decode_heavy(self, decode)

    def decoded_heavy(self) -> None:
        """Note that a request of which this was feared has been weighed."""
        self.memory.decoded_heavy(self)

    def fetch_room_bytes(self) -> int:
        """Return the most that a fetch should return now."""
        return self.memory.fetch_room_bytes(self.use)

    def parked(self) -> None:
        """Let another heavy request begin: however much a parked call holds, it is not in work."""
        if self.memory.heavy is self:
            self.memory.end_heavy()

    def account(self) -> None:
        """Bring the sums over all connections up to date with this one."""
        memory = self.memory
        requests_bytes = self.request_bytes
        if self.unfinished_bytes:
            # The received bytes of the request, or the memory kept for all of it.
            requests_bytes += max(self.unfinished_bytes, self.reader.unfinished_memory_bytes)
        before_bytes = self.accounted_requests_bytes
        if requests_bytes != before_bytes:
            memory.requests_bytes += requests_bytes - before_bytes
            self.use.requests_bytes += requests_bytes - before_bytes
            self.accounted_requests_bytes = requests_bytes
            if memory.heavy is self:
                memory.account_heavy(requests_bytes)
        added_bytes = self.memory_bytes - self.accounted_answers_bytes
        if added_bytes:
            memory.answers_bytes += added_bytes
            self.use.answers_bytes += added_bytes
            self.accounted_answers_bytes = self.memory_bytes
            if added_bytes < 0 and memory.wide:
                memory.wide.go_on()
