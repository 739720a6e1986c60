"""Produce flights at a fixed pace, in a process of its own, and time each acknowledgement.

Latency counts from the moment a record was due, so a record that waits in the client's queue because the
server stands still counts as late.
"""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Producer

from benchmarks.clients import flights
from benchmarks.clients.jobs import Figures, LoadError, PacedJob
from benchmarks.clients.start_line import wait_for_start_line
from benchmarks.summary import percentile

FLUSH_SECONDS = 90.0
QUEUE_RECORDS = 1_000_000
POLL_SECONDS = 0.001


class _Paced:
    """A producer that knows when each of its records was due."""

    def __init__(self, job: PacedJob) -> None:
        self._job = job
        self._producer = Producer(
            {
                "bootstrap.servers": job.bootstrap,
                "linger.ms": job.linger_ms,
                "acks": job.acks,
                "queue.buffering.max.messages": QUEUE_RECORDS,
            }
        )
        self._began = 0.0
        self.latencies: list[float] = []
        self.sent = 0
        self.end = 0

    def warm_up(self) -> None:
        """Connect and learn the leader by asking for the topic's metadata."""
        self._producer.list_topics(self._job.topic, 30)

    def run(self) -> float:
        """Send for the job's time, wait for what is missing; return the seconds until the last was sent."""
        self._began = time.monotonic()
        total = round(self._job.seconds * self._job.rate)
        while self.sent < total:
            due = min(total, int((time.monotonic() - self._began) * self._job.rate) + 1)
            for number in range(self.sent, due):
                self._producer.produce(
                    self._job.topic,
                    flights.value(self._job.first + number),
                    partition=0,
                    on_delivery=self._done,
                )
                self.sent += 1
            self._producer.poll(POLL_SECONDS)
        seconds = time.monotonic() - self._began
        self._producer.flush(FLUSH_SECONDS)
        return seconds

    def _done(self, error: Any, message: Any) -> None:
        if error is not None:
            raise LoadError(f"a record failed: {error}")
        # One partition, nothing failed: acknowledgements come in the order of sending.
        due = self._began + len(self.latencies) / self._job.rate
        self.latencies.append(time.monotonic() - due)
        self.end = message.offset() + 1


def paced(job: PacedJob) -> Figures:
    """Run a job.

    Raises: LoadError if a record was refused or has no acknowledgement after a minute and a half.
    """
    producer = _Paced(job)
    producer.warm_up()
    wait_for_start_line()
    cpu_before = time.process_time()
    seconds = producer.run()
    if missing := producer.sent - len(producer.latencies):
        raise LoadError(
            f"{missing} of {producer.sent} records were not acknowledged in {FLUSH_SECONDS:.0f} s"
        )
    ordered = sorted(producer.latencies)
    return {
        "records": producer.sent,
        "seconds": seconds,
        "end": producer.end,
        "p50_ms": percentile(ordered, 0.5) * 1_000,
        "p99_ms": percentile(ordered, 0.99) * 1_000,
        "max_ms": ordered[-1] * 1_000,
        "client_cpu_seconds": time.process_time() - cpu_before,
    }
