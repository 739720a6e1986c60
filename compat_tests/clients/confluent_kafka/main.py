"""confluent-kafka: librdkafka's producer, consumer and admin client from Python."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
)

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
    librdkafka_security,
    serve,
    until,
)

WITHIN = 60


def security() -> dict[str, Any]:
    """Return the settings for the security of the request in work."""
    token = bearer_token()
    own = {"oauth_cb": lambda _: (token, time.time() + 200)} if token else {}
    return librdkafka_security() | own


def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, **security()})


def resource(topic: str, **options: Any) -> ConfigResource:
    return ConfigResource(ConfigResource.Type.TOPIC, topic, **options)


@contextmanager
def consumer(bootstrap: str, **settings: Any) -> Iterator[Any]:
    """Open a consumer that is closed at the end."""
    made = Consumer(
        {
            "bootstrap.servers": bootstrap,
            **security(),
            "group.id": "never-joined",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "reconnect.backoff.max.ms": 500,
            **settings,
        }
    )
    try:
        yield made
    finally:
        made.close()


def version() -> dict[str, Any]:
    return {"version": f"{confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})"}


def create_topic(bootstrap: str, topic: str, partitions: int, configs: dict[str, str]) -> dict[str, Any]:
    client = admin(bootstrap)
    client.create_topics([NewTopic(topic, partitions, 1, config=configs)])[topic].result(WITHIN)
    return {}


def delete_topic(bootstrap: str, topic: str) -> dict[str, Any]:
    client = admin(bootstrap)
    client.delete_topics([topic])[topic].result(WITHIN)
    return {}


def describe_config(bootstrap: str, topic: str, name: str) -> dict[str, Any]:
    client, asked = admin(bootstrap), resource(topic)
    return {"value": client.describe_configs([asked])[asked].result(WITHIN)[name].value}


def alter_config(bootstrap: str, topic: str, name: str, value: str) -> dict[str, Any]:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    client, asked = admin(bootstrap), resource(topic, incremental_configs=[entry])
    client.incremental_alter_configs([asked])[asked].result(WITHIN)
    return {}


def delete_records(bootstrap: str, topic: str, partition: int, before: int) -> dict[str, Any]:
    client, there = admin(bootstrap), TopicPartition(topic, partition, before)
    client.delete_records([there])[there].result(WITHIN)
    return {}


def list_offsets(bootstrap: str, topic: str, partition: int) -> dict[str, Any]:
    client, there = admin(bootstrap), TopicPartition(topic, partition)
    ends = {
        name: client.list_offsets({there: spec})[there].result(WITHIN).offset
        for name, spec in (("earliest", OffsetSpec.earliest()), ("latest", OffsetSpec.latest()))
    }
    return dict(ends)


def produce(
    bootstrap: str,
    topic: str,
    partition: int,
    codec: str,
    acks: str,
    idempotent: bool,
    records: list[dict[str, Any]],
) -> dict[str, Any]:
    offsets: list[int] = []

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            raise KafkaException(error)
        offsets.append(message.offset())

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            **security(),
            "compression.codec": codec,
            "acks": acks,
            "enable.idempotence": idempotent,
            "linger.ms": 20,
        }
    )
    for record in records:
        producer.produce(
            topic,
            encoded(record["value"]),
            encoded(record["key"]),
            partition,
            on_delivery=delivered,
            timestamp=record["timestamp"],
            headers=[(name, encoded(value)) for name, value in record["headers"]],
        )
    left = producer.flush(WITHIN)
    if left:
        raise TimeoutError(f"{left} records were not delivered")
    return {"offsets": None if acks == "0" else offsets}


def produce_numbers(bootstrap: str, topic: str, count: int, idempotent: bool) -> dict[str, Any]:
    acked: list[int] = []
    errors: list[Any] = []
    progress = Progress()

    def delivered(error: Any, message: Any) -> None:
        acked.append(int(message.value())) if error is None else errors.append(str(error))
        progress.tell(len(acked))

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            **security(),
            "acks": "all",
            "enable.idempotence": idempotent,
            "message.timeout.ms": PATIENCE_SECONDS * 1_000,
            "reconnect.backoff.max.ms": 500,
        }
    )
    for number in range(count):
        while number - len(acked) - len(errors) >= UNANSWERED_MAX:
            producer.poll(PAUSE_SECONDS)
        producer.produce(topic, b"%d" % number, partition=0, on_delivery=delivered)
        producer.poll(PAUSE_SECONDS if number % NUMBERS_AT_A_TIME == 0 else 0)
    producer.flush(PATIENCE_SECONDS)
    return {"acked": acked, "failed": len(errors), "first_error": errors[:1]}


def consume(bootstrap: str, topic: str, partition: int, offset: int, count: int | None) -> dict[str, Any]:
    with consumer(bootstrap) as reader:
        return {"records": taken(reader, TopicPartition(topic, partition, offset), count)}


def consume_from_timestamp(bootstrap: str, topic: str, partition: int, timestamp: int) -> dict[str, Any]:
    with consumer(bootstrap) as reader:
        (found,) = reader.offsets_for_times([TopicPartition(topic, partition, timestamp)], WITHIN)
        return {"records": taken(reader, found, None) if found.offset >= 0 else []}


def consume_group(bootstrap: str, topic: str, group: str, count: int) -> dict[str, Any]:
    settings = {"group.id": group, "auto.offset.reset": "earliest"}
    with consumer(bootstrap, **settings) as reader:
        reader.subscribe([topic])
        records = taken(reader, None, count)
        reader.commit(asynchronous=False)
    return {"records": records}


def taken(reader: Any, there: TopicPartition | None, count: int | None) -> list[dict[str, Any]]:
    """Read `count` records, or all of the partition up to its end.

    The last record consumed need not be at the end, as offsets may be missing there. The end itself is
    reported once it is reached, and then nothing more comes.
    """
    end = 0
    if there is not None:
        reader.assign([there])
        end = reader.get_watermark_offsets(there, timeout=WITHIN)[1]
        if count is None and there.offset >= end:
            return []
    records = Records()
    progress = Progress()
    reached = 0
    for _ in until():
        if len(records) >= count if count is not None else max(reached, position(reader, there)) >= end:
            break
        for message in reader.consume(count - len(records) if count is not None else 1_000, timeout=0.1):
            if message.error() is not None:
                if message.error().code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(message.error())
                reached = message.offset()
                continue
            records.add([shown(message)])
        progress.tell(len(records))
    return records.all


def position(reader: Any, there: TopicPartition | None) -> int:
    return int(reader.position([there])[0].offset)


def shown(message: Any) -> dict[str, Any]:
    return {
        "partition": message.partition(),
        "offset": message.offset(),
        "key": decoded(message.key()),
        "value": decoded(message.value()),
        "headers": [[name, decoded(value)] for name, value in message.headers() or []],
        "timestamp": message.timestamp()[1],
    }


def instance(bootstrap: str, transactional_id: str, timeout: int = 60_000) -> Any:
    """Return a producer of an id; a delivery may not be waited for longer than a transaction lasts."""
    made = Producer(
        {
            "bootstrap.servers": bootstrap,
            **security(),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout,
            "message.timeout.ms": timeout,
            "log_level": 2,
        }
    )
    made.init_transactions(WITHIN)
    return made


def begin_and_send(writer: Any, topic: str, value: str) -> None:
    writer.begin_transaction()
    writer.produce(topic, value, partition=0)
    writer.flush(WITHIN)


def refused(writer: Any) -> dict[str, Any]:
    try:
        writer.commit_transaction(WITHIN)
    except KafkaException:
        return {"refused": True}
    return {"refused": False}


def transact(bootstrap: str, topic: str, transactional_id: str, count: int) -> dict[str, Any]:
    writer = instance(bootstrap, transactional_id)
    for number in range(count):
        begin_and_send(writer, topic, str(number))
        writer.abort_transaction(WITHIN) if number % 3 == 2 else writer.commit_transaction(WITHIN)
    return {}


def fence(bootstrap: str, topic: str, transactional_id: str) -> dict[str, Any]:
    old = instance(bootstrap, transactional_id)
    begin_and_send(old, topic, "old")
    young = instance(bootstrap, transactional_id)
    begin_and_send(young, topic, "young")
    young.commit_transaction(WITHIN)
    return refused(old)


def outlive(bootstrap: str, topic: str, transactional_id: str, timeout: int, wait: int) -> dict[str, Any]:
    writer = instance(bootstrap, transactional_id, timeout)
    begin_and_send(writer, topic, "late")
    time.sleep(wait / 1000)
    return refused(writer)


def copy(
    bootstrap: str, topic: str, target: str, group: str, transactional_id: str, count: int
) -> dict[str, Any]:
    writer = instance(bootstrap, transactional_id)
    settings = {
        "group.id": group,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.partition.eof": False,
    }
    copied = 0
    with consumer(bootstrap, **settings) as reader:
        reader.subscribe([topic])
        for _ in until():
            if copied >= count:
                break
            messages = reader.consume(5, timeout=0.2)
            if not messages:
                continue
            writer.begin_transaction()
            for message in messages:
                writer.produce(target, message.value() + b"!", partition=0)
            offsets = reader.position(reader.assignment())
            writer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), WITHIN)
            writer.commit_transaction(WITHIN)
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
