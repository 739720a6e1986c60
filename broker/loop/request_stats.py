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

from typing import Final, Protocol

from broker.loop.histogram import Histogram

PHASES: Final = ("queue", "local", "remote", "response", "send")


class Timed(Protocol):
    """A call with its moments, in ns of the loop's clock."""

    api_key: int
    version: int
    size_bytes: int
    logged: bool
    response_bytes: int
    received_ns: int
    began_ns: int
    handled_ns: int
    """The time on the loop until it was answered."""
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

    def add(self, call: Timed, sent_ns: int) -> None:
        """Count a call whose answer has left at this moment."""
        self.count += 1
        api = self.api
        api.request_bytes += call.size_bytes
        api.response_bytes += call.response_bytes
        received_ns, began_ns = call.received_ns, call.began_ns
        answered_ns, released_ns, local_ns = call.answered_ns, call.released_ns, call.handled_ns
        # Written out: functions for the parts would double the cost.
        histogram, duration_ns = api.total_ns, sent_ns - received_ns
        histogram.counts[duration_ns.bit_length()] += 1
        histogram.total += duration_ns
        histogram, duration_ns = api.queue_ns, began_ns - received_ns
        histogram.counts[duration_ns.bit_length()] += 1
        histogram.total += duration_ns
        histogram = api.local_ns
        histogram.counts[local_ns.bit_length()] += 1
        histogram.total += local_ns
        histogram, duration_ns = api.remote_ns, answered_ns - began_ns - local_ns
        histogram.counts[duration_ns.bit_length()] += 1
        histogram.total += duration_ns
        histogram, duration_ns = api.response_ns, released_ns - answered_ns
        histogram.counts[duration_ns.bit_length()] += 1
        histogram.total += duration_ns
        histogram, duration_ns = api.send_ns, sent_ns - released_ns
        histogram.counts[duration_ns.bit_length()] += 1
        histogram.total += duration_ns


def phases_ns(call: Timed, sent_ns: int) -> tuple[int, int, int, int, int]:
    """Return the durations of the phases, in the order of PHASES, of a call that left at `sent_ns`."""
    queue_ns = call.began_ns - call.received_ns
    local_ns = call.handled_ns
    remote_ns = call.answered_ns - call.began_ns - local_ns
    return queue_ns, local_ns, remote_ns, call.released_ns - call.answered_ns, sent_ns - call.released_ns
