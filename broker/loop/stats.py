"""The counters of the broker: plain numbers, written on the hot path, read when metrics are asked for.

Nothing here formats, locks or allocates per request; broker/server/exposition.py makes Prometheus metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from broker.loop.histogram import Histogram
from broker.loop.listener_stats import ListenerStats
from broker.loop.refused_clients import RefusedClients
from broker.loop.request_stats import ApiStats, RequestStats, Timed
from broker.loop.security_stats import SecurityStats
from broker.loop.software import SoftwareCounts
from broker.loop.turns import Turns

if TYPE_CHECKING:
    from broker.loop.auditor import Auditor


class Cause(Enum):
    """The cause of a connection's end."""

    CLIENT = "client"
    """The client closed it, or it broke."""
    IDLE = "idle"
    READ_TIMEOUT = "read_timeout"
    """A request arrived too slowly."""
    WRITE_TIMEOUT = "write_timeout"
    """The client took nothing of an answer."""
    MEMORY = "memory"
    """It held memory that others needed, and made no progress."""
    PROTOCOL = "protocol"
    """It sent bytes that are not a request."""
    ACKS_NONE = "acks_none"
    """A produce with acks=0 failed, and this is the only way to tell the client."""
    SETUP = "setup"
    """Its TLS handshake or its login failed, or took too long."""
    REFUSED = "refused"
    """It may not send requests, or no more of them."""
    DISK = "disk"
    """Records that its answer had begun to send could not be read."""
    BUG = "bug"
    """A fault of our own."""
    MOVED = "moved"
    """A node has moved to another address, and the client would not have noticed."""
    STOP = "stop"
    """The server stops."""


class Stats:
    """All counters of one broker."""

    __slots__ = (
        "apis",
        "audit",
        "certificates_until_s",
        "commit_batches",
        "commit_bytes",
        "commit_ns",
        "commits_failed",
        "connections_closed",
        "connections_opened",
        "connections_refused",
        "dead_letter_failures",
        "dead_letters_held",
        "dead_letters_written",
        "listeners",
        "logins",
        "on_logged",
        "received_bytes",
        "refused_clients",
        "requests",
        "sent_bytes",
        "software",
        "sync_ns",
        "throttled",
        "throttled_ms",
        "turns",
    )

    def __init__(
        self, clock_ns: Callable[[], int] | None = None, cpu_ns: Callable[[], int] | None = None
    ) -> None:
        """`clock_ns`: a steady clock; `cpu_ns`: the loop's processor time; without them no durations."""
        self.turns = Turns(clock_ns, cpu_ns)
        # By api_key << 16 | version, and by api_key.
        self.requests: dict[int, RequestStats] = {}
        self.apis: dict[int, ApiStats] = {}
        # Dead letters of share groups: stored ones, attempts that failed, and the share-partitions whose
        # letters wait since then.
        self.dead_letters_written = 0
        self.dead_letter_failures = 0
        self.dead_letters_held = 0
        self.received_bytes = 0
        self.sent_bytes = 0
        self.connections_opened = 0
        self.software = SoftwareCounts()
        self.connections_refused = 0
        # By the listener's name.
        self.listeners: dict[str, ListenerStats] = {}
        self.logins = SecurityStats()
        self.refused_clients = RefusedClients()
        # By the key of the quota: requests whose clients had to wait, and for how long.
        self.throttled: Counter[str] = Counter()
        self.throttled_ms: Counter[str] = Counter()
        # Told of logins and of requests that fail, on an audited server.
        self.audit: Auditor | None = None
        # The end of the certificate of each listener with TLS, seconds since 1970.
        self.certificates_until_s: dict[str, int] = {}
        self.connections_closed = dict.fromkeys(Cause, 0)
        # Called with each request that is to be logged, and the moment at which its answer has left.
        self.on_logged: Callable[[Any, int], None] = _not_logged
        # Commits to the write-ahead logs: the time that a thread took for one and for its sync alone, the
        # batches (group commit) and bytes it wrote, and the number of commits that the disk did not take.
        self.commit_ns = Histogram()
        self.sync_ns = Histogram()
        self.commit_batches = Histogram()
        self.commit_bytes = Histogram()
        self.commits_failed = 0

    @property
    def clock_ns(self) -> Callable[[], int]:
        """A steady clock."""
        return self.turns.clock_ns

    @clock_ns.setter
    def clock_ns(self, clock_ns: Callable[[], int]) -> None:
        self.turns.clock_ns = clock_ns

    def request_stats(self, api_key: int, version: int) -> RequestStats:
        """Return the counters of an API and version, made at their first use."""
        key = api_key << 16 | version
        found = self.requests.get(key)
        if found is None:
            api = self.apis.get(api_key)
            if api is None:
                api = self.apis[api_key] = ApiStats()
            found = self.requests[key] = RequestStats(api)
        return found

    def completed(self, calls: Sequence[Timed], sent_ns: int) -> None:
        """Count requests of one connection whose answers have left together."""
        first = calls[0]
        api_key, version = first.api_key, first.version
        alike = True
        for call in calls:
            if call.api_key != api_key or call.version != version:
                alike = False
            if call.logged:
                self.on_logged(call, sent_ns)
        if alike:
            self._counts(first).add(calls, sent_ns)
            return
        for call in calls:
            self._counts(call).add((call,), sent_ns)

    def _counts(self, call: Timed) -> RequestStats:
        found = self.requests.get(call.api_key << 16 | call.version)
        return self.request_stats(call.api_key, call.version) if found is None else found

    def failed(
        self, api_key: int, version: int, codes: list[int], counts: Mapping[int, int] | None = None
    ) -> None:
        """Count the error codes of an answer; `counts` has how many of each there are, if that is known."""
        errors = self.request_stats(api_key, version).errors
        if len(codes) == 1:
            errors[codes[0]] = errors.get(codes[0], 0) + 1
            return
        for code, count in (counts or Counter(codes)).items():
            errors[code] = errors.get(code, 0) + count

    def committed(self, *, duration_ns: int, sync_ns: int, batches: int, size_bytes: int) -> None:
        """Count a commit."""
        self.commit_ns.add(duration_ns)
        self.sync_ns.add(sync_ns)
        self.commit_batches.add(batches)
        self.commit_bytes.add(size_bytes)


def _not_logged(_call: Timed, _sent_ns: int) -> None:
    return
