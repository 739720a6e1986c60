"""The producer of the demo's records, an ordinary client: confluent-kafka, JSON values, keyed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from importlib import util
from typing import Any

import msgspec

from pipeline.errors import SetupError, SourceError

PARTITIONS = 4
DEADLINE_SECONDS = 60.0
POLL_RECORDS = 1_000
"""Records between two polls for delivery reports, whose queue is bounded."""


def require_client() -> None:
    """Check that confluent-kafka is installed.  Raises: SetupError."""
    if util.find_spec("confluent_kafka") is None:
        raise SetupError(
            "confluent-kafka, the demo's producer, is not installed: pip install confluent-kafka"
        )


def create_topics(bootstrap: str, topics: Mapping[str, Mapping[str, str]]) -> None:
    """Create topics of PARTITIONS partitions with these configs.  Raises: SourceError."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = [
        NewTopic(name, num_partitions=PARTITIONS, replication_factor=1, config=dict(configs))
        for name, configs in topics.items()
    ]
    for name, created in admin.create_topics(new, request_timeout=DEADLINE_SECONDS).items():
        try:
            created.result()
        except KafkaException as error:
            raise SourceError(f"the topic {name!r} was not created on {bootstrap}: {error}") from error


def delete_topics(bootstrap: str, names: list[str]) -> None:
    """Delete topics.  Raises: confluent_kafka.KafkaException."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_topics(names).values():
        deleted.result()


def produce(
    bootstrap: str, topic: str, records: Iterable[dict[str, Any]], *, key: str, tell: Callable[[int], None]
) -> int:
    """Produce every record, acknowledged by all replicas, and return the count; call `tell` once a second.

    Idempotent: a batch sent again after a lost answer is stored once. Raises: SourceError.
    """
    from confluent_kafka import KafkaError, Message, Producer

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20})
    failures: list[KafkaError] = []
    delivered = 0

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        nonlocal delivered
        if error is None:
            delivered += 1
        else:
            failures.append(error)

    produced, told = 0, time.monotonic()
    for produced, record in enumerate(records, start=1):
        _send(producer, topic, record, key, on_delivery)
        if produced % POLL_RECORDS == 0:
            producer.poll(0)
            if time.monotonic() - told >= 1:
                tell(delivered)
                told = time.monotonic()
    left = producer.flush(DEADLINE_SECONDS)
    if failures or left:
        cause = failures[0] if failures else f"no answer within {DEADLINE_SECONDS:.0f} s"
        raise SourceError(
            f"{len(failures) + left:,} of {produced:,} records of {topic!r} were not acknowledged: {cause}"
        )
    return delivered


def _send(
    producer: Any, topic: str, record: dict[str, Any], key: str, on_delivery: Callable[..., None]
) -> None:
    value = msgspec.json.encode(record)
    while True:
        try:
            producer.produce(topic, value, record[key].encode(), on_delivery=on_delivery)
            return
        except BufferError:  # the client's queue is full: wait for deliveries
            producer.poll(0.1)
