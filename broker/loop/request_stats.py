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

from broker.loop.histogram import Histogram

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
    """The time and the bytes of one API's requests."""

    __slots__ = (
        "local_ns",
        "queue_ns",
        "remote_ns",
        "request_bytes",
        "response_bytes",
        "response_ns",
        "send_ns",
        "total_ns",
    )

    def __init__(self) -> None:
        self.total_ns = Histogram()
        self.queue_ns = Histogram()
        self.local_ns = Histogram()
        self.remote_ns = Histogram()
        self.response_ns = Histogram()
        self.send_ns = Histogram()
        # With headers, without the four bytes of a request's length; with those of an answer's.
        self.request_bytes = 0
        self.response_bytes = 0

    def phases(self) -> dict[str, Histogram]:
        """Return the histograms of the phases by name."""
        return {phase: getattr(self, f"{phase}_ns") for phase in PHASES}


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
        # Written out: functions for the parts would double the cost.  The sums of durations are differences
        # of the sums of moments.
        total, queue, local = api.total_ns.counts, api.queue_ns.counts, api.local_ns.counts
        remote, response, send = api.remote_ns.counts, api.response_ns.counts, api.send_ns.counts
        count = all_received = all_began = all_local = all_answered = all_released = 0
        for call in calls:
            number = call.count
            count += number
            api.request_bytes += call.size_bytes
            api.response_bytes += call.response_bytes
            received_ns, began_ns, local_ns = call.received_ns, call.began_ns, call.handled_ns
            answered_ns, released_ns = call.answered_ns, call.released_ns
            all_received += number * received_ns
            all_began += number * began_ns
            all_local += local_ns
            all_answered += number * answered_ns
            all_released += number * released_ns
            local_ns //= number
            total[(sent_ns - received_ns).bit_length()] += number
            queue[(began_ns - received_ns).bit_length()] += number
            local[local_ns.bit_length()] += number
            remote[(answered_ns - began_ns - local_ns).bit_length()] += number
            response[(released_ns - answered_ns).bit_length()] += number
            send[(sent_ns - released_ns).bit_length()] += number
        self.count += count
        api.total_ns.total += count * sent_ns - all_received
        api.queue_ns.total += all_began - all_received
        api.local_ns.total += all_local
        api.remote_ns.total += all_answered - all_began - all_local
        api.response_ns.total += all_released - all_answered
        api.send_ns.total += count * sent_ns - all_released


def phases_ns(call: Timed, sent_ns: int) -> tuple[int, int, int, int, int]:
    """Return the durations of the phases, in the order of PHASES, of a request that left at `sent_ns`."""
    queue_ns = call.began_ns - call.received_ns
    local_ns = call.handled_ns // call.count
    remote_ns = call.answered_ns - call.began_ns - local_ns
    return queue_ns, local_ns, remote_ns, call.released_ns - call.answered_ns, sent_ns - call.released_ns
