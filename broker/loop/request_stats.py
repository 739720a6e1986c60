"""The counters of requests: by API and version, and the phases of their time by API.

    complete ── queue ── local … remote … local ── response ── send ── the last byte is with the kernel
                 │        │       │                 │           └ until the client's socket took it
                 │        │       │                 └ encoded, and the answers before it are ready
                 │        │       └ not on the loop: waiting for the disk, for data, or for its next slice
                 │        └ on the loop: decoding and handling
                 └ until the loop came to it

The phases add up to the total.  A request counts when its answer has left, or its connection has ended first.
Source: Kafka's RequestMetrics, with its names of phases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from broker.loop.histogram import BITS, Histogram

PHASES: Final = ("queue", "local", "remote", "response", "send")


class Timed(Protocol):
    """A call with its moments, in ns of the loop's clock."""

    api_key: int
    version: int
    count: int
    """The requests that it stands for: they came, were answered and left together."""
    size_bytes: int
    logged: bool
    response_bytes: int
    received_ns: int
    began_ns: int
    handled_ns: int
    """The time on the loop until it was answered, that of all its requests together."""
    answered_ns: int
    released_ns: int


class ApiStats:
    """The time and the bytes of one API's requests.

    Of the moments of all requests the sums are kept: the sums of durations are their differences.
    """

    __slots__ = (
        "answered_ns",
        "began_ns",
        "counts",
        "handled_ns",
        "received_ns",
        "released_ns",
        "request_bytes",
        "response_bytes",
        "sent_ns",
    )

    def __init__(self) -> None:
        self.counts = tuple([0] * (BITS + 1) for _ in ("total", *PHASES))
        """The requests by their total and by the phases, as in `Histogram.counts`."""
        self.received_ns = self.began_ns = self.handled_ns = 0
        self.answered_ns = self.released_ns = self.sent_ns = 0
        # With headers, without the four bytes of a request's length; with those of an answer's.
        self.request_bytes = 0
        self.response_bytes = 0

    @property
    def total_ns(self) -> Histogram:
        """The whole durations."""
        return Histogram(self.counts[0], self.sent_ns - self.received_ns)

    def phases(self) -> dict[str, Histogram]:
        """Return the histograms of the phases by name."""
        waited_ns = self.answered_ns - self.began_ns - self.handled_ns
        sums = (
            self.began_ns - self.received_ns,
            self.handled_ns,
            waited_ns,
            self.released_ns - self.answered_ns,
            self.sent_ns - self.released_ns,
        )
        return {
            phase: Histogram(counts, total)
            for phase, counts, total in zip(PHASES, self.counts[1:], sums, strict=True)
        }


class RequestStats:
    """The requests of one API and version."""

    __slots__ = ("api", "count", "errors")

    def __init__(self, api: ApiStats) -> None:
        self.api = api
        self.count = 0
        # Error codes in answers, by occurrence: a produce to two partitions can count two.
        self.errors: dict[int, int] = {}

    def add(self, calls: Iterable[Timed], sent_ns: int) -> None:
        """Count calls whose answers have left at this moment."""
        api = self.api
        # Written out: functions for the parts would double the cost.
        total, queue, local, remote, response, send = api.counts
        for call in calls:
            number = call.count
            received_ns, began_ns, local_ns = call.received_ns, call.began_ns, call.handled_ns
            answered_ns, released_ns = call.answered_ns, call.released_ns
            self.count += number
            api.request_bytes += call.size_bytes
            api.response_bytes += call.response_bytes
            api.received_ns += number * received_ns
            api.began_ns += number * began_ns
            api.handled_ns += local_ns
            api.answered_ns += number * answered_ns
            api.released_ns += number * released_ns
            api.sent_ns += number * sent_ns
            local_ns //= number
            total[(sent_ns - received_ns).bit_length()] += number
            queue[(began_ns - received_ns).bit_length()] += number
            local[local_ns.bit_length()] += number
            remote[(answered_ns - began_ns - local_ns).bit_length()] += number
            response[(released_ns - answered_ns).bit_length()] += number
            send[(sent_ns - released_ns).bit_length()] += number


def phases_ns(call: Timed, sent_ns: int) -> tuple[int, int, int, int, int]:
    """Return the durations of the phases, in the order of PHASES, of a request that left at `sent_ns`."""
    queue_ns = call.began_ns - call.received_ns
    local_ns = call.handled_ns // call.count
    remote_ns = call.answered_ns - call.began_ns - local_ns
    return queue_ns, local_ns, remote_ns, call.released_ns - call.answered_ns, sent_ns - call.released_ns
