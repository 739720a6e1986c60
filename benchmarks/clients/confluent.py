"""Produce and consume with the confluent-kafka package, one Python call per record, as Python programs do."""

from __future__ import annotations

import random
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.clients import loads
from benchmarks.clients.jobs import ConsumeJob, Figures, LoadError, ProduceJob
from benchmarks.clients.rdkafka_loads import READ_AT_ONCE
from benchmarks.clients.settings import consumer_settings, producer_settings

POLL_EVERY = 500
"""Records between two polls of the producer."""


class _Counted:
    """A producer that counts its acknowledgements."""

    def __init__(self, job: ProduceJob) -> None:
        self._producer = Producer({**producer_settings(job), "delivery.report.only.error": False})
        self._topic, self._partitions = job.topic, job.partitions
        self._value = random.Random(1).randbytes(job.record_bytes)
        self._sent = 0
        self._acknowledged = 0

    def send(self, at_most: int) -> int:
        """Hand over up to `at_most` records, one call each; return how many the queue took."""
        before = self._sent
        for _ in range(min(at_most, POLL_EVERY)):
            try:
                self._producer.produce(
                    self._topic, self._value, partition=self._sent % self._partitions, on_delivery=self._done
                )
            except BufferError:
                break
            self._sent += 1
        self._producer.poll(0 if self._sent > before else 0.001)
        return self._sent - before

    def wait_until_empty(self, within_seconds: float) -> int:
        """Wait for the acknowledgements of everything sent; return how many are missing at the deadline."""
        self._producer.flush(within_seconds)
        return self._sent - self._acknowledged

    def _done(self, error: Any, _message: Any) -> None:
        if error is not None:
            raise LoadError(f"a record failed: {error}")
        self._acknowledged += 1


def produce(job: ProduceJob) -> Figures:
    """Run a producer job.

    Raises: LoadError if the broker refused a record.
    """
    return loads.produce(_Counted(job), job)


def consume(job: ConsumeJob) -> Figures:
    """Run a consumer job by assignment.

    Raises: LoadError if records are missing, too many, of another size, or late.
    """
    # The constructor requires a group id; without subscribe and commit no group is created.
    settings = {**consumer_settings(job), "group.id": "bench", "enable.auto.commit": "false"}
    consumer = Consumer(settings)
    partitions = [TopicPartition(job.topic, partition, 0) for partition in range(job.partitions)]
    figures = loads.consume(
        lambda: consumer.assign(partitions), lambda seconds: _read(consumer, seconds, job), job
    )
    consumer.close()
    return figures


def _read(consumer: Consumer, timeout_seconds: float, job: ConsumeJob) -> int:
    messages = consumer.consume(READ_AT_ONCE, timeout_seconds)
    for message in messages:
        if message.error() is not None:
            raise LoadError(f"{job.topic}: {message.error()}")
        if len(message.value() or b"") != job.record_bytes:
            raise LoadError(f"{job.topic}-{message.partition()} offset {message.offset()}: another size")
    return len(messages)
