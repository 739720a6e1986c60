"""Produce and consume with the confluent-kafka package, one Python call per record, as Python programs do."""

from __future__ import annotations

import random
import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.clients.jobs import ConsumeJob, Figures, LoadError, ProduceJob
from benchmarks.clients.rdkafka_loads import (
    NOTHING_MORE_MS,
    READ_AT_ONCE,
    WARM_UP_LIMIT_SECONDS,
    consumer_settings,
    cpu_seconds,
    producer_settings,
)
from benchmarks.clients.start_line import wait_for_start_line

POLL_EVERY = 500
"""Records between two polls of the producer."""


class _Counted:
    """A producer that counts its acknowledgements."""

    def __init__(self, job: ProduceJob) -> None:
        self._producer = Producer({**producer_settings(job), "delivery.report.only.error": False})
        self._topic, self._partitions = job.topic, job.partitions
        self._value = random.Random(1).randbytes(job.record_bytes)
        self.sent = 0
        self.acknowledged = 0

    def send(self, at_most: int) -> None:
        """Hand over up to `at_most` records, one call each."""
        for _ in range(min(at_most, POLL_EVERY)):
            try:
                self._producer.produce(
                    self._topic, self._value, partition=self.sent % self._partitions, on_delivery=self._done
                )
            except BufferError:
                break
            self.sent += 1
        else:
            self._producer.poll(0)
            return
        self._producer.poll(0.001)

    def wait_until_empty(self, within_seconds: float) -> int:
        """Wait for the acknowledgements of everything sent; return how many are missing at the deadline."""
        self._producer.flush(within_seconds)
        return self.sent - self.acknowledged

    def _done(self, error: Any, _message: Any) -> None:
        if error is not None:
            raise LoadError(f"a record failed: {error}")
        self.acknowledged += 1


def produce(job: ProduceJob) -> Figures:
    """Run a producer job.

    Raises: LoadError if the broker refused a record.
    """
    producer = _Counted(job)
    _warm_up(producer, job)
    warm = producer.sent
    if job.wait_for_start:
        wait_for_start_line()
    cpu_before, started = cpu_seconds(), time.monotonic()
    deadline = started + job.seconds if job.seconds else float("inf")
    wanted = warm + (job.records or 1 << 62)
    while producer.sent < wanted and time.monotonic() < deadline:
        producer.send(wanted - producer.sent)
    missing = producer.wait_until_empty(job.flush_seconds)
    ended = time.monotonic()
    return {
        "records": producer.acknowledged - warm,
        "warm_records": warm,
        "unacknowledged": missing,
        "seconds": ended - started,
        "started_at": started,
        "ended_at": ended,
        "client_cpu_seconds": cpu_seconds() - cpu_before,
    }


def _warm_up(producer: _Counted, job: ProduceJob) -> None:
    for round_ in range(1, job.warm_up_rounds + 1):
        while producer.sent < round_ * job.warm_up_round:
            producer.send(round_ * job.warm_up_round - producer.sent)
        if missing := producer.wait_until_empty(WARM_UP_LIMIT_SECONDS):
            raise LoadError(
                f"{missing} warm-up records were not acknowledged within {WARM_UP_LIMIT_SECONDS:.0f} s"
            )


def consume(job: ConsumeJob) -> Figures:
    """Run a consumer job by assignment.

    Raises: LoadError if records are missing, too many, of another size, or late.
    """
    # A group id is asked for by the constructor; without subscribe and commit no group comes to be.
    settings = {**consumer_settings(job), "group.id": "bench", "enable.auto.commit": "false"}
    consumer = Consumer(settings)
    partitions = [TopicPartition(job.topic, partition, 0) for partition in range(job.partitions)]
    if job.wait_for_start:
        consumer.assign(partitions)
        wait_for_start_line()
    cpu_before, started = cpu_seconds(), time.monotonic()
    if not job.wait_for_start:
        consumer.assign(partitions)
    ended = _read_all(consumer, job, started + job.limit_seconds)
    figures = {"records": float(job.records), "seconds": ended - started}
    consumer.close()
    times = {"started_at": started, "ended_at": ended, "client_cpu_seconds": cpu_seconds() - cpu_before}
    return {**figures, **times}


def _read_all(consumer: Consumer, job: ConsumeJob, deadline: float) -> float:
    count = 0
    ended = time.monotonic()
    while count < job.records:
        taken = _read(consumer, 0.1, job)
        count += taken
        ended = time.monotonic()
        if not taken and ended > deadline:
            raise LoadError(f"{job.topic}: {count} of {job.records} records within {job.limit_seconds} s")
    count += _read(consumer, NOTHING_MORE_MS / 1_000, job)
    if count != job.records:
        raise LoadError(f"{job.topic}: {count} records read, {job.records} were acknowledged")
    return ended


def _read(consumer: Consumer, timeout_seconds: float, job: ConsumeJob) -> int:
    messages = consumer.consume(READ_AT_ONCE, timeout_seconds)
    for message in messages:
        if message.error() is not None:
            raise LoadError(f"{job.topic}: {message.error()}")
        if len(message.value() or b"") != job.record_bytes:
            raise LoadError(f"{job.topic}-{message.partition()} offset {message.offset()}: another size")
    return len(messages)
