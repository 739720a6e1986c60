"""kafka-python 3: producer, consumer and admin client in pure Python."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, OffsetSpec
from kafka.errors import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

from compat_tests.clients.contract import (
    NUMBERS_AT_A_TIME,
    PATIENCE_SECONDS,
    PAUSE_SECONDS,
    UNANSWERED_MAX,
    Progress,
    Records,
    bearer_token,
    decoded,
    encoded,
    python_security,
    serve,
    until,
)

WITHIN = 60

POLL_MS = 5_000
"""Long: a group is joined during a poll, and a poll with records returns at once. kafka-python 3.0.12 forgets
its assignment, and stops beating, when a poll times out just as the answer to SyncGroup comes."""


class Bearer(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """The bearer of a token that does not change."""

    def token(self) -> str:
        return bearer_token() or ""


def security() -> dict[str, Any]:
    """Return the settings for the security of the request in work."""
    own = {"sasl_oauth_token_provider": Bearer()} if bearer_token() else {}
    return python_security() | own


def admin(bootstrap: str) -> Any:
    return closing(KafkaAdminClient(bootstrap_servers=bootstrap, **security()))


def consumer(bootstrap: str, *topics: str, **settings: Any) -> Any:
    defaults = {"group_id": None, "auto_offset_reset": "none", "enable_auto_commit": False}
    return closing(
        KafkaConsumer(*topics, bootstrap_servers=bootstrap, **security(), **{**defaults, **settings})
    )


def version() -> dict[str, Any]:
    return {"version": kafka.__version__}


def create_topic(bootstrap: str, topic: str, partitions: int, configs: dict[str, str]) -> dict[str, Any]:
    options = {"num_partitions": partitions, "replication_factor": 1, "configs": configs}
    with admin(bootstrap) as client:
        client.create_topics({topic: options})
    return {}


def delete_topic(bootstrap: str, topic: str) -> dict[str, Any]:
    with admin(bootstrap) as client:
        client.delete_topics([topic])
    return {}


def describe_config(bootstrap: str, topic: str, name: str) -> dict[str, Any]:
    with admin(bootstrap) as client:
        asked = ConfigResource("TOPIC", topic, configs={name: None})
        return {"value": client.describe_configs([asked], config_filter="all")["topic"][topic][name]["value"]}


def alter_config(bootstrap: str, topic: str, name: str, value: str) -> dict[str, Any]:
    with admin(bootstrap) as client:
        client.alter_configs([ConfigResource("TOPIC", topic, configs={name: value})])
    return {}


def delete_records(bootstrap: str, topic: str, partition: int, before: int) -> dict[str, Any]:
    with admin(bootstrap) as client:
        client.delete_records({TopicPartition(topic, partition): before})
    return {}


def list_offsets(bootstrap: str, topic: str, partition: int) -> dict[str, Any]:
    there = TopicPartition(topic, partition)
    with admin(bootstrap) as client:
        earliest = client.list_partition_offsets({there: OffsetSpec.EARLIEST})[there].offset
        latest = client.list_partition_offsets({there: OffsetSpec.LATEST})[there].offset
    return {"earliest": earliest, "latest": latest}


def produce(
    bootstrap: str,
    topic: str,
    partition: int,
    codec: str,
    acks: str,
    idempotent: bool,
    records: list[dict[str, Any]],
) -> dict[str, Any]:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        **security(),
        acks=acks if acks == "all" else int(acks),
        compression_type=None if codec == "none" else codec,
        enable_idempotence=idempotent,
        linger_ms=20,
    )
    with closing(producer):
        sent = [
            producer.send(
                topic,
                value=encoded(record["value"]),
                key=encoded(record["key"]),
                headers=[(name, encoded(value)) for name, value in record["headers"]],
                partition=partition,
                timestamp_ms=record["timestamp"],
            )
            for record in records
        ]
        answers = [future.get(WITHIN) for future in sent]
    return {"offsets": None if acks == "0" else [answer.offset for answer in answers]}


def produce_numbers(bootstrap: str, topic: str, count: int, idempotent: bool) -> dict[str, Any]:
    acked: list[int] = []
    errors: list[str] = []
    progress = Progress()

    def answered(number: int) -> None:
        acked.append(number)
        progress.tell(len(acked))

    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        **security(),
        acks="all",
        enable_idempotence=idempotent,
        delivery_timeout_ms=PATIENCE_SECONDS * 1_000,
        reconnect_backoff_max_ms=500,
    )
    with closing(producer):
        for number in range(count):
            while number - len(acked) - len(errors) >= UNANSWERED_MAX:
                time.sleep(PAUSE_SECONDS)
            future = producer.send(topic, b"%d" % number, partition=0)
            future.add_callback(lambda _, number=number: answered(number))
            future.add_errback(lambda error: errors.append(repr(error)))
            if number % NUMBERS_AT_A_TIME == 0:
                time.sleep(PAUSE_SECONDS)
        producer.flush(PATIENCE_SECONDS)
    return {"acked": acked, "failed": len(errors), "first_error": errors[:1]}


def consume(bootstrap: str, topic: str, partition: int, offset: int, count: int | None) -> dict[str, Any]:
    there = TopicPartition(topic, partition)
    with consumer(bootstrap) as reader:
        reader.assign([there])
        reader.seek(there, offset)
        return {"records": taken(reader, there, count)}


def consume_from_timestamp(bootstrap: str, topic: str, partition: int, timestamp: int) -> dict[str, Any]:
    there = TopicPartition(topic, partition)
    with consumer(bootstrap) as reader:
        reader.assign([there])
        found = reader.offsets_for_times({there: timestamp})[there]
        if found is None:
            return {"records": []}
        reader.seek(there, found.offset)
        return {"records": taken(reader, there, None)}


def consume_group(bootstrap: str, topic: str, group: str, count: int) -> dict[str, Any]:
    with consumer(bootstrap, topic, group_id=group, auto_offset_reset="earliest") as reader:
        records = taken(reader, None, count)
        reader.commit()
    return {"records": records}


def taken(reader: Any, there: TopicPartition | None, count: int | None) -> list[dict[str, Any]]:
    """Read `count` records, or all of the partition up to its end."""
    end = reader.end_offsets([there])[there] if count is None else 0
    records = Records()
    progress = Progress()
    for _ in until():
        if len(records) >= count if count is not None else reader.position(there) >= end:
            break
        for batch in reader.poll(timeout_ms=POLL_MS).values():
            records.add(shown(message) for message in batch)
        progress.tell(len(records))
    return records.all


def shown(record: Any) -> dict[str, Any]:
    return {
        "partition": record.partition,
        "offset": record.offset,
        "key": decoded(record.key),
        "value": decoded(record.value),
        "headers": [[name, decoded(value)] for name, value in record.headers],
        "timestamp": record.timestamp,
    }


@contextmanager
def instance(bootstrap: str, transactional_id: str, timeout: int = 60_000) -> Iterator[Any]:
    """Open a producer of an id."""
    made = KafkaProducer(
        bootstrap_servers=bootstrap,
        **security(),
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout,
    )
    made.init_transactions()
    try:
        yield made
    finally:
        made.close(timeout=1)


def begin_and_send(writer: Any, topic: str, value: str) -> None:
    writer.begin_transaction()
    writer.send(topic, value.encode(), partition=0).get(WITHIN)


def refused(writer: Any) -> dict[str, Any]:
    try:
        writer.commit_transaction()
    except KafkaError:
        return {"refused": True}
    return {"refused": False}


def transact(bootstrap: str, topic: str, transactional_id: str, count: int) -> dict[str, Any]:
    with instance(bootstrap, transactional_id) as writer:
        for number in range(count):
            begin_and_send(writer, topic, str(number))
            writer.abort_transaction() if number % 3 == 2 else writer.commit_transaction()
    return {}


def fence(bootstrap: str, topic: str, transactional_id: str) -> dict[str, Any]:
    with instance(bootstrap, transactional_id) as old:
        begin_and_send(old, topic, "old")
        with instance(bootstrap, transactional_id) as young:
            begin_and_send(young, topic, "young")
            young.commit_transaction()
        return refused(old)


def outlive(bootstrap: str, topic: str, transactional_id: str, timeout: int, wait: int) -> dict[str, Any]:
    with instance(bootstrap, transactional_id, timeout) as writer:
        begin_and_send(writer, topic, "late")
        time.sleep(wait / 1000)
        return refused(writer)


def copy(
    bootstrap: str, topic: str, target: str, group: str, transactional_id: str, count: int
) -> dict[str, Any]:
    copied = 0
    settings = {"group_id": group, "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    with (
        instance(bootstrap, transactional_id) as writer,
        consumer(bootstrap, topic, max_poll_records=5, **settings) as reader,
    ):
        for _ in until():
            if copied >= count:
                break
            messages = [message for part in reader.poll(timeout_ms=POLL_MS).values() for message in part]
            if not messages:
                continue
            writer.begin_transaction()
            for message in messages:
                writer.send(target, message.value + b"!", partition=0)
            offsets = {
                there: OffsetAndMetadata(reader.position(there), "", -1) for there in reader.assignment()
            }
            writer.send_offsets_to_transaction(offsets, reader.group_metadata())
            writer.commit_transaction()
            copied += len(messages)
    return {"copied": copied}


OPERATIONS = {
    operation.__name__: operation
    for operation in (
        version, create_topic, delete_topic, describe_config, alter_config, delete_records, produce,
        produce_numbers, consume, consume_from_timestamp, consume_group, list_offsets, transact, fence,
        outlive, copy,
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(OPERATIONS, {})
