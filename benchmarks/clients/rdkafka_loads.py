"""Produce and consume at full speed through librdkafka's C interface."""

from __future__ import annotations

import ctypes
import random
import time
from collections import deque
from ctypes import addressof, c_void_p, sizeof

from benchmarks.clients import loads, rdkafka
from benchmarks.clients.jobs import ConsumeJob, Figures, LoadError, ProduceJob
from benchmarks.clients.rdkafka import LIBRARY, Client, Message, destroy_message
from benchmarks.clients.settings import consumer_settings, producer_settings

CALL_BYTES = 64 * 1024
"""The bytes handed over per call: enough to make the call itself free."""

READ_AT_ONCE = 10_000


class _Producer:
    """A sender of a ring of ready-made records, round and round; every record names its own partition."""

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
        # Random bytes: nothing between here and the disk can compress them.
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
        """Hand over up to `at_most` records; return how many the queue took, after 1 ms if it took none."""
        count = min(self._at_once, at_most)
        first = addressof(self._ring) + self._next * sizeof(Message)
        taken: int = LIBRARY.rd_kafka_produce_batch(
            self.client.topic, 0, rdkafka.COPY_AND_USE_PARTITION, first, count
        )
        self._next = (self._next + taken) % self._length
        if not taken:
            self._poll(1)
        return taken

    def _waiting(self) -> int:
        """Return how many records are not acknowledged yet."""
        count: int = LIBRARY.rd_kafka_outq_len(self.client.handle)
        return count

    def _poll(self, timeout_ms: int) -> None:
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
        while (waiting := self._waiting()) and time.monotonic() < deadline:
            self._poll(1)
        return waiting


def produce(job: ProduceJob) -> Figures:
    """Run a producer job.

    Raises: LoadError if the broker refused a record or the connections could not be made.
    """
    return loads.produce(_Producer(job), job)


def consume(job: ConsumeJob) -> Figures:
    """Run a consumer job: partitions are assigned, offsets given, no group is involved.

    Raises: LoadError if records are missing, too many, of another size, or late.
    """
    client = Client(rdkafka.CONSUMER, job.topic, consumer_settings(job))
    stored = sum(high - low for low, high in map(client.watermarks, range(job.partitions)))
    if not job.wait_for_start and stored != job.records:
        raise LoadError(f"{job.topic}: {stored} records are stored, {job.records} were acknowledged")
    queue = LIBRARY.rd_kafka_queue_new(client.handle)
    places = (c_void_p * READ_AT_ONCE)()
    return loads.consume(
        lambda: _start(client, queue, job),
        lambda seconds: _read(queue, round(seconds * 1_000), places, job),
        job,
    )


def _start(client: Client, queue: int, job: ConsumeJob) -> None:
    for partition in range(job.partitions):
        if LIBRARY.rd_kafka_consume_start_queue(client.topic, partition, 0, queue) != 0:
            raise LoadError(f"cannot read partition {partition}: {_last_error()}")


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
