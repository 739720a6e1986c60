"""The counters of the broker: plain numbers, written on the hot path, read when metrics are asked for.

Nothing here formats, locks or allocates per request; broker/server/exposition.py makes Prometheus metrics.
Durations are counted in buckets of powers of two of nanoseconds: finding the bucket is one `bit_length`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

BITS: Final = 64
"""The numbers that are counted fit into this many bits."""

WINDOW_BITS: Final = 36
"""Recent maxima are kept for windows of 2^36 ns, 69 s: longer than monitoring waits between scrapes."""


class Histogram:
    """Whole numbers by size: `counts[n]` are those below 2^n and not below 2^(n-1)."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (BITS + 1)
        self.total = 0

    def add(self, value: int) -> None:
        """Count a number, of at most 64 bits."""
        self.counts[value.bit_length()] += 1
        self.total += value

    @property
    def count(self) -> int:
        """The number of values counted."""
        return sum(self.counts)


class RequestStats:
    """Latency and errors of the requests of one API and version."""

    __slots__ = ("errors", "latency_ns")

    def __init__(self) -> None:
        # From the turn in which a request was complete until its answer was, time parked included.
        self.latency_ns = Histogram()
        # Error codes in answers, by occurrence: a produce to two partitions can count two.
        self.errors: dict[int, int] = {}


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
    REFUSED = "refused"
    """It may not send requests, or no more of them."""
    BUG = "bug"
    """A fault of our own."""
    STOP = "stop"
    """The server stops."""


class Stats:
    """All counters of one broker."""

    __slots__ = (
        "clock_ns",
        "commit_batches",
        "commit_bytes",
        "commit_ns",
        "commits_failed",
        "connections_closed",
        "connections_opened",
        "connections_refused",
        "longest_turn_before_ns",
        "longest_turn_ns",
        "received_bytes",
        "requests",
        "sent_bytes",
        "sync_ns",
        "turn_began_ns",
        "turn_ns",
        "turn_window",
    )

    def __init__(self, clock_ns: Callable[[], int] | None = None) -> None:
        # A steady clock; a broker without one measures no durations.
        self.clock_ns = clock_ns or (lambda: 0)
        # By api_key << 16 | version.
        self.requests: dict[int, RequestStats] = {}
        self.received_bytes = 0
        self.sent_bytes = 0
        self.connections_opened = 0
        self.connections_refused = 0
        self.connections_closed = dict.fromkeys(Cause, 0)
        # Commits to the write-ahead logs: the time that a thread took for one and for its sync alone, the
        # batches (group commit) and bytes it wrote, and the number of commits that the disk did not take.
        self.commit_ns = Histogram()
        self.sync_ns = Histogram()
        self.commit_batches = Histogram()
        self.commit_bytes = Histogram()
        self.commits_failed = 0
        # Turns of the event loop; while one lasts, nothing else is served.
        self.turn_began_ns = 0
        self.turn_ns = Histogram()
        # The longest turn of this window of time and of the one before.
        self.turn_window = 0
        self.longest_turn_ns = 0
        self.longest_turn_before_ns = 0

    def request_stats(self, api_key: int, version: int) -> RequestStats:
        """Return the counters of an API and version, made at their first use."""
        key = api_key << 16 | version
        found = self.requests.get(key)
        if found is None:
            found = self.requests[key] = RequestStats()
        return found

    def answered(self, api_key: int, version: int, duration_ns: int) -> None:
        """Count a request that has its answer."""
        latency = (
            self.requests.get(api_key << 16 | version) or self.request_stats(api_key, version)
        ).latency_ns
        latency.counts[duration_ns.bit_length()] += 1
        latency.total += duration_ns

    def failed(self, api_key: int, version: int, codes: list[int]) -> None:
        """Count the error codes of an answer."""
        errors = self.request_stats(api_key, version).errors
        for code in codes:
            errors[code] = errors.get(code, 0) + 1

    def committed(self, *, duration_ns: int, sync_ns: int, batches: int, size_bytes: int) -> None:
        """Count a commit."""
        self.commit_ns.add(duration_ns)
        self.sync_ns.add(sync_ns)
        self.commit_batches.add(batches)
        self.commit_bytes.add(size_bytes)

    def turn_done(self, ended_ns: int) -> None:
        """Count a turn that began at `turn_began_ns`."""
        duration_ns = ended_ns - self.turn_began_ns
        self.turn_ns.add(duration_ns)
        window = ended_ns >> WINDOW_BITS
        if window != self.turn_window:
            self.longest_turn_before_ns = self.longest_turn_ns if window == self.turn_window + 1 else 0
            self.turn_window = window
            self.longest_turn_ns = 0
        self.longest_turn_ns = max(self.longest_turn_ns, duration_ns)

    def recent_longest_turn_ns(self, now_ns: int) -> int:
        """Return the longest turn of the last one to two minutes."""
        windows_ago = (now_ns >> WINDOW_BITS) - self.turn_window
        if windows_ago > 1:
            return 0
        return max(self.longest_turn_ns, self.longest_turn_before_ns if windows_ago == 0 else 0)
