"""The course of a load, whatever its client: warm up, wait for the start, run against the clock, count."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Protocol

from benchmarks.clients.jobs import ConsumeJob, Figures, LoadError, ProduceJob
from benchmarks.clients.start_line import wait_for_start_line

WARM_UP_LIMIT_SECONDS = 90.0

READ_SECONDS = 0.1
"""The time one read waits for records before the deadline is checked."""

NOTHING_MORE_SECONDS = 0.3
"""The time a consumer looks for records beyond those that should be there."""


class Sender(Protocol):
    """A producer that knows topic, partitions and records."""

    def send(self, at_most: int) -> int:
        """Hand over up to `at_most` records; return how many were taken, after a moment if none were."""

    def wait_until_empty(self, within_seconds: float) -> int:
        """Wait for the acknowledgements of everything sent; return how many are missing at the deadline."""


def produce(sender: Sender, job: ProduceJob) -> Figures:
    """Run a producer job.

    Raises: LoadError if the warm-up was not acknowledged; what the sender raises.
    """
    _warm_up(sender, job)
    if job.wait_for_start:
        wait_for_start_line()
    cpu_before, started = _cpu_seconds(), time.monotonic()
    deadline = started + job.seconds if job.seconds else float("inf")
    wanted = job.records or 1 << 62
    sent = 0
    while sent < wanted and time.monotonic() < deadline:
        sent += sender.send(wanted - sent)
    missing = sender.wait_until_empty(job.flush_seconds)
    ended = time.monotonic()
    return {
        "records": sent - missing,
        "warm_records": job.warm_up_records,
        "unacknowledged": missing,
        "seconds": ended - started,
        "started_at": started,
        "ended_at": ended,
        "client_cpu_seconds": _cpu_seconds() - cpu_before,
    }


def _warm_up(sender: Sender, job: ProduceJob) -> None:
    for _ in range(job.warm_up_rounds):
        sent = 0
        while sent < job.warm_up_round:
            sent += sender.send(job.warm_up_round - sent)
        if missing := sender.wait_until_empty(WARM_UP_LIMIT_SECONDS):
            raise LoadError(
                f"{missing} of {sent} warm-up records were not acknowledged in {WARM_UP_LIMIT_SECONDS:.0f} s"
            )


def consume(start: Callable[[], None], read: Callable[[float], int], job: ConsumeJob) -> Figures:
    """Run a consumer job: `start` begins to fetch, `read` waits for some seconds and returns how many came.

    Raises: LoadError if records are missing, too many, or late; what `start` and `read` raise.
    """
    if job.wait_for_start:
        start()
        wait_for_start_line()
    cpu_before, started = _cpu_seconds(), time.monotonic()
    if not job.wait_for_start:
        start()
    ended = _read_all(read, job, started + job.limit_seconds)
    return {
        "records": job.records,
        "seconds": ended - started,
        "started_at": started,
        "ended_at": ended,
        "client_cpu_seconds": _cpu_seconds() - cpu_before,
    }


def _read_all(read: Callable[[float], int], job: ConsumeJob, deadline: float) -> float:
    """Read until all records have come, then look for more; return the time of the last one."""
    count = 0
    ended = time.monotonic()
    while count < job.records:
        taken = read(READ_SECONDS)
        count += taken
        ended = time.monotonic()
        if not taken and ended > deadline:
            raise LoadError(f"{job.topic}: {count} of {job.records} records within {job.limit_seconds} s")
    count += read(NOTHING_MORE_SECONDS)
    if count != job.records:
        raise LoadError(f"{job.topic}: {count} records read, {job.records} were acknowledged")
    return ended


def _cpu_seconds() -> float:
    """Return the CPU time this process has used."""
    times = os.times()
    return times.user + times.system
