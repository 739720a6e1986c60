"""The search for late flights: in the plain topic by a client that filters for itself, or in a view.

Both are written as a fast Python program would be: records come thousands at a time, and msgspec reads only
the wanted members of each value.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator

import msgspec
from confluent_kafka import Consumer, Message, TopicPartition

from benchmarks.clients import flights
from benchmarks.clients.jobs import Figures, LateFlightsJob, LoadError
from benchmarks.clients.rdkafka_loads import READ_AT_ONCE
from benchmarks.clients.start_line import wait_for_start_line

LATE = 99
STATISTICS_MS = 200
WAIT_SECONDS = 0.1

Found = list[tuple[int, str]]
"""Number and carrier of each late flight."""


class Flight(msgspec.Struct, gc=False):
    """The members of a record that the filter needs."""

    id: int
    delay: int
    carrier: str


class LateFlight(msgspec.Struct, gc=False):
    """A record of the view."""

    id: int
    carrier: str


def filter_topic(job: LateFlightsJob) -> Figures:
    """Read every record and keep the late ones.

    Raises: LoadError if a late flight is missing, came twice, or came too late.
    """
    decode = msgspec.json.Decoder(Flight).decode

    def keep(messages: Iterable[Message], found: Found) -> None:
        for message in messages:
            flight = decode(_value(message))
            if flight.delay == LATE:
                found.append((flight.id, flight.carrier))

    return _run(job, keep)


def read_view(job: LateFlightsJob) -> Figures:
    """Read the view's records.

    Raises: LoadError as for `filter_topic`.
    """
    decode = msgspec.json.Decoder(LateFlight).decode

    def keep(messages: Iterable[Message], found: Found) -> None:
        for message in messages:
            flight = decode(_value(message))
            found.append((flight.id, flight.carrier))

    return _run(job, keep)


def _value(message: Message) -> bytes:
    if message.error() is not None:
        raise LoadError(f"{message.topic()}: {message.error()}")
    value: bytes = message.value()
    return value


def expected(count: int) -> Found:
    """Return the late ones among `count` flights."""
    return [(number, f"C{number % flights.CARRIERS}") for number in range(LATE, count, flights.DELAYS)]


def _run(job: LateFlightsJob, keep: Callable[[Iterable[Message], Found], None]) -> Figures:
    counted = _Received()
    consumer = Consumer(_settings(job, counted))
    # Connected, but not reading yet.
    consumer.get_watermark_offsets(TopicPartition(job.topic, 0), 30)
    wanted, found = expected(job.flights), Found()
    # This waits for statistics: after the start line it would let ten consumers start at ten different times.
    before = counted.at_rest(consumer)
    wait_for_start_line()
    cpu_before, started = time.process_time(), time.monotonic()
    consumer.assign([TopicPartition(job.topic, 0, 0)])
    while len(found) < len(wanted):
        keep(_available(consumer), found)
        if time.monotonic() - started > job.limit_seconds:
            raise LoadError(f"{job.topic}: {len(found)} of {len(wanted)} in {job.limit_seconds:.0f} s")
    ended, used = time.monotonic(), time.process_time() - cpu_before
    received = counted.at_rest(consumer) - before
    if found != wanted:
        raise LoadError(f"{job.topic}: {len(found)} flights were found, but not the {len(wanted)} late ones")
    consumer.close()
    return {
        "matches": len(found),
        "received_bytes": received,
        "seconds": ended - started,
        "started_at": started,
        "ended_at": ended,
        "client_cpu_seconds": used,
    }


def _available(consumer: Consumer) -> Iterator[Message]:
    """Yield what has come, at least one record; waiting for a fixed number would delay the last ones."""
    first = consumer.poll(WAIT_SECONDS)
    if first is not None:
        yield first
        yield from consumer.consume(READ_AT_ONCE, 0)


def _settings(job: LateFlightsJob, counted: _Received) -> dict[str, object]:
    return {
        "bootstrap.servers": job.bootstrap,
        "group.id": job.group,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        # By default a full queue stops fetching for a second, which would be measured as the broker's time.
        "queued.min.messages": 10_000_000,
        "queued.max.messages.kbytes": 256 * 1024,
        "fetch.queue.backoff.ms": 1,
        "statistics.interval.ms": STATISTICS_MS,
        "stats_cb": counted.told,
    }


class _Received:
    """The bytes that came over the sockets, according to librdkafka's statistics."""

    def __init__(self) -> None:
        self._bytes = -1

    def told(self, text: str) -> None:
        """Take a new statistics text."""
        self._bytes = json.loads(text)["rx_bytes"]

    def at_rest(self, consumer: Consumer) -> int:
        """Return the count of the next statistics."""
        self._bytes = -1
        while self._bytes < 0:
            message = consumer.poll(WAIT_SECONDS)
            if message is not None:
                raise LoadError(f"{message.topic()}: a record or error after the last: {message.error()}")
        return self._bytes
