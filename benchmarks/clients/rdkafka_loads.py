"""Produce and consume at full speed through librdkafka's C interface."""

from __future__ import annotations

import ctypes
import os
import random
import time
from collections import deque
from ctypes import addressof, c_void_p, sizeof

from benchmarks.clients import rdkafka
from benchmarks.clients.jobs import ConsumeJob, Figures, LoadError, ProduceJob
from benchmarks.clients.rdkafka import LIBRARY, Client, Message, destroy_message
from benchmarks.clients.start_line import wait_for_start_line

QUEUE_KIB = 64 * 1024
"""What the producer holds before it waits: 0.2 s of a fast broker, and a short tail behind a slow one."""

CALL_BYTES = 64 * 1024
"""Records handed over per call: enough to make the call itself free."""

READ_AT_ONCE = 10_000

WARM_UP_LIMIT_SECONDS = 90.0

NOTHING_MORE_MS = 300
"""How long a consumer looks for records beyond those that should be there."""


def producer_settings(job: ProduceJob) -> dict[str, str]:
    """Return librdkafka's settings for a producer job; whatever is not here is librdkafka's default."""
    return {
        "bootstrap.servers": job.bootstrap,
        "acks": str(job.acks),
        "linger.ms": str(job.linger_ms),
        "batch.size": str(job.batch_bytes),
        "queue.buffering.max.kbytes": str(QUEUE_KIB),
        "queue.buffering.max.messages": "10000000",
        "delivery.report.only.error": "true",
    }


def consumer_settings(job: ConsumeJob) -> dict[str, str]:
    """Return librdkafka's settings for a consumer job."""
    return {
        "bootstrap.servers": job.bootstrap,
        "auto.offset.reset": "error",
        # By default a full queue stops fetching for a second, which would be measured as the broker's time.
        "queued.min.messages": "10000000",
        "queued.max.messages.kbytes": str(256 * 1024),
        "fetch.queue.backoff.ms": "1",
    }


class _Producer:
    """Sends a ring of ready-made records round and round; every record names its own partition."""

    def __init__(self, job: ProduceJob) -> None:
        self.client = Client(
            rdkafka.PRODUCER,
            job.topic,
            producer_settings(job),
            events=rdkafka.EVENT_DELIVERY_REPORT | rdkafka.EVENT_ERROR,
        )
        self._events = LIBRARY.rd_kafka_queue_get_main(self.client.handle)
        at_once = max(1, CALL_BYTES // job.record_bytes)
        self._length = job.partitions * max(1, -(-at_once // job.partitions))
        # Random bytes: nothing between here and the platters can compress them.
        noise = random.Random(1).randbytes(job.record_bytes + self._length)
        self._noise = ctypes.create_string_buffer(noise, len(noise))
        self._ring = (Message * (2 * self._length))()
        for place, message in enumerate(self._ring):
            message.partition = place % job.partitions
            message.payload = addressof(self._noise) + place % self._length
            message.size_bytes = job.record_bytes
        self._at_once = at_once
        self._next = 0

    def send(self, at_most: int) -> int:
        """Hand over up to `at_most` records; return how many the queue took."""
        count = min(self._at_once, at_most)
        first = addressof(self._ring) + self._next * sizeof(Message)
        taken: int = LIBRARY.rd_kafka_produce_batch(
            self.client.topic, 0, rdkafka.COPY_AND_USE_PARTITION, first, count
        )
        self._next = (self._next + taken) % self._length
        return taken

    def waiting(self) -> int:
        """Return how many records are not acknowledged yet."""
        count: int = LIBRARY.rd_kafka_outq_len(self.client.handle)
        return count

    def poll(self, timeout_ms: int) -> None:
        """Wait for an event; a record that failed ends the load (reports of success are switched off)."""
        event = LIBRARY.rd_kafka_queue_poll(self._events, timeout_ms)
        if not event:
            return
        if LIBRARY.rd_kafka_event_type(event) == rdkafka.EVENT_ERROR:
            raise LoadError(f"librdkafka: {LIBRARY.rd_kafka_event_error_string(event).decode()}")
        failed = LIBRARY.rd_kafka_event_message_count(event)
        first = LIBRARY.rd_kafka_event_message_next(event).contents
        raise LoadError(
            f"{failed} records failed, first in partition {first.partition}: {rdkafka.error_text(first.err)}"
        )

    def wait_until_empty(self, within_seconds: float) -> int:
        """Wait for the acknowledgements of everything sent; return how many are missing at the deadline."""
        deadline = time.monotonic() + within_seconds
        while (waiting := self.waiting()) and time.monotonic() < deadline:
            self.poll(1)
        return waiting


def produce(job: ProduceJob) -> Figures:
    """Run a producer job.

    Raises: LoadError if the broker refused a record or the connections could not be made.
    """
    producer = _Producer(job)
    _warm_up(producer, job)
    if job.wait_for_start:
        wait_for_start_line()
    cpu_before, started = cpu_seconds(), time.monotonic()
    sent = _send_until_done(producer, job, started)
    missing = producer.wait_until_empty(job.flush_seconds)
    ended = time.monotonic()
    return {
        "records": sent - missing,
        "warm_records": job.warm_up_records,
        "unacknowledged": missing,
        "seconds": ended - started,
        "started_at": started,
        "ended_at": ended,
        "client_cpu_seconds": cpu_seconds() - cpu_before,
    }


def _warm_up(producer: _Producer, job: ProduceJob) -> None:
    for _ in range(job.warm_up_rounds):
        sent = 0
        while sent < job.warm_up_round:
            sent += producer.send(job.warm_up_round - sent)
        if missing := producer.wait_until_empty(WARM_UP_LIMIT_SECONDS):
            raise LoadError(
                f"{missing} of {sent} warm-up records were not acknowledged in {WARM_UP_LIMIT_SECONDS:.0f} s"
            )


def _send_until_done(producer: _Producer, job: ProduceJob, started: float) -> int:
    deadline = started + job.seconds if job.seconds else float("inf")
    wanted = job.records or 1 << 62
    sent = 0
    while sent < wanted and time.monotonic() < deadline:
        taken = producer.send(wanted - sent)
        sent += taken
        if not taken:
            producer.poll(1)
    return sent


def consume(job: ConsumeJob) -> Figures:
    """Run a consumer job: partitions are assigned, offsets given, no group is involved.

    Raises: LoadError if records are missing, too many, of another size, or late.
    """
    client = Client(rdkafka.CONSUMER, job.topic, consumer_settings(job))
    stored = sum(high - low for low, high in map(client.watermarks, range(job.partitions)))
    if not job.wait_for_start and stored != job.records:
        raise LoadError(f"{job.topic}: {stored} records are stored, {job.records} were acknowledged")
    queue = LIBRARY.rd_kafka_queue_new(client.handle)
    if job.wait_for_start:
        _start(client, queue, job)
        wait_for_start_line()
    cpu_before, started = cpu_seconds(), time.monotonic()
    if not job.wait_for_start:
        _start(client, queue, job)
    ended = _read_all(queue, job, started + job.limit_seconds)
    return {
        "records": job.records,
        "seconds": ended - started,
        "started_at": started,
        "ended_at": ended,
        "client_cpu_seconds": cpu_seconds() - cpu_before,
    }


def _start(client: Client, queue: int, job: ConsumeJob) -> None:
    for partition in range(job.partitions):
        if LIBRARY.rd_kafka_consume_start_queue(client.topic, partition, 0, queue) != 0:
            raise LoadError(f"cannot read partition {partition}: {_last_error()}")


def _read_all(queue: int, job: ConsumeJob, deadline: float) -> float:
    """Read until all records came; return the time of the last; then look whether there are more."""
    places = (c_void_p * READ_AT_ONCE)()
    count = 0
    ended = time.monotonic()
    while count < job.records:
        taken = _read(queue, 100, places, job)
        count += taken
        ended = time.monotonic()
        if not taken and ended > deadline:
            raise LoadError(f"{job.topic}: {count} of {job.records} records within {job.limit_seconds} s")
    count += _read(queue, NOTHING_MORE_MS, places, job)
    if count != job.records:
        raise LoadError(f"{job.topic}: {count} records read, {job.records} were acknowledged")
    return ended


def _read(queue: int, timeout_ms: int, places: ctypes.Array[c_void_p], job: ConsumeJob) -> int:
    taken: int = LIBRARY.rd_kafka_consume_batch_queue(queue, timeout_ms, places, READ_AT_ONCE)
    if taken < 0:
        raise LoadError(f"reading {job.topic}: {_last_error()}")
    if taken:
        first = ctypes.cast(places[0], ctypes.POINTER(Message)).contents  # type: ignore[arg-type]
        if first.err:
            raise LoadError(f"{job.topic}-{first.partition}: {rdkafka.error_text(first.err)}")
        if first.size_bytes != job.record_bytes:
            raise LoadError(f"{job.topic}-{first.partition} offset {first.offset}: {first.size_bytes} bytes")
        deque(map(destroy_message, places[:taken]), maxlen=0)
    return taken


def _last_error() -> str:
    return rdkafka.error_text(LIBRARY.rd_kafka_last_error())


def cpu_seconds() -> float:
    """Return the CPU time this process has used."""
    times = os.times()
    return times.user + times.system
