"""aiokafka: producer, consumer and admin client on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from compat_tests.clients.contract import (
    NUMBERS_AT_A_TIME,
    PATIENCE_SECONDS,
    PAUSE_SECONDS,
    UNANSWERED_MAX,
    Operation,
    Progress,
    Records,
    bearer_token,
    decoded,
    encoded,
    python_security,
    serve,
    until,
)

RECORD_BYTES_MAX = 1_000_000


def runs(operation: Callable[..., Coroutine[Any, Any, dict[str, Any]]]) -> Operation:
    """Run a coroutine in an event loop of its own."""

    @wraps(operation)
    def run(**fields: Any) -> dict[str, Any]:
        return asyncio.run(operation(**fields))

    return run


@asynccontextmanager
async def started(client: Any) -> AsyncIterator[Any]:
    """Start a client and stop it at the end."""
    await client.start()
    try:
        yield client
    finally:
        await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())


class Bearer(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    """The bearer of a token that does not change."""

    async def token(self) -> str:
        return bearer_token() or ""


def security() -> dict[str, Any]:
    """Return the settings for the security of the request in work."""
    own = {"sasl_oauth_token_provider": Bearer()} if bearer_token() else {}
    return python_security() | own


def admin(bootstrap: str) -> Any:
    return started(AIOKafkaAdminClient(bootstrap_servers=bootstrap, **security()))


def version() -> dict[str, Any]:
    return {"version": aiokafka.__version__}


@runs
async def create_topic(
    bootstrap: str, topic: str, partitions: int, configs: dict[str, str]
) -> dict[str, Any]:
    async with admin(bootstrap) as client:
        answer = await client.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])
    failed(answer.topic_errors)
    return {}


@runs
async def delete_topic(bootstrap: str, topic: str) -> dict[str, Any]:
    async with admin(bootstrap) as client:
        failed((await client.delete_topics([topic])).topic_error_codes)
    return {}


@runs
async def describe_config(bootstrap: str, topic: str, name: str) -> dict[str, Any]:
    async with admin(bootstrap) as client:
        (answer,) = await client.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: None})]
        )
    (_, _, _, _, entries) = answer.resources[0]
    return {"value": entries[0][1]}


@runs
async def alter_config(bootstrap: str, topic: str, name: str, value: str) -> dict[str, Any]:
    async with admin(bootstrap) as client:
        (answer,) = await client.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})]
        )
    failed([(topic, answer.resources[0][0])])
    return {}


@runs
async def delete_records(bootstrap: str, topic: str, partition: int, before: int) -> dict[str, Any]:
    async with admin(bootstrap) as client:
        await client.delete_records({TopicPartition(topic, partition): RecordsToDelete(before)})
    return {}


@runs
async def produce(
    bootstrap: str,
    topic: str,
    partition: int,
    codec: str,
    acks: str,
    idempotent: bool,
    records: list[dict[str, Any]],
) -> dict[str, Any]:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        **security(),
        acks=acks if acks == "all" else int(acks),
        compression_type=None if codec == "none" else codec,
        enable_idempotence=idempotent,
        max_request_size=RECORD_BYTES_MAX,
        linger_ms=20,
    )
    async with started(producer):
        sent = [
            await producer.send(
                topic,
                value=encoded(record["value"]),
                key=encoded(record["key"]),
                partition=partition,
                timestamp_ms=record["timestamp"],
                headers=[(name, encoded(value)) for name, value in record["headers"]],
            )
            for record in records
        ]
        answers = await asyncio.gather(*sent)
    return {"offsets": None if acks == "0" else [answer.offset for answer in answers]}


@runs
async def produce_numbers(bootstrap: str, topic: str, count: int, idempotent: bool) -> dict[str, Any]:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        **security(),
        acks="all",
        enable_idempotence=idempotent,
        request_timeout_ms=PATIENCE_SECONDS * 1_000,
        retry_backoff_ms=50,
    )
    acked: list[int] = []
    errors: list[BaseException] = []
    progress = Progress()
    room = asyncio.Semaphore(UNANSWERED_MAX)

    def answered(number: int, future: asyncio.Future[Any]) -> None:
        room.release()
        error = future.exception()
        acked.append(number) if error is None else errors.append(error)
        progress.tell(len(acked))

    async with started(producer):
        for number in range(count):
            await room.acquire()
            future = await producer.send(topic, b"%d" % number, partition=0)
            future.add_done_callback(lambda done, number=number: answered(number, done))
            if number % NUMBERS_AT_A_TIME == 0:
                await asyncio.sleep(PAUSE_SECONDS)
        await producer.flush()
    return {"acked": acked, "failed": len(errors), "first_error": repr(errors[:1])}


@runs
async def consume(
    bootstrap: str, topic: str, partition: int, offset: int, count: int | None
) -> dict[str, Any]:
    there = TopicPartition(topic, partition)
    async with started(
        AIOKafkaConsumer(bootstrap_servers=bootstrap, **security(), auto_offset_reset="none")
    ) as consumer:
        consumer.assign([there])
        consumer.seek(there, offset)
        return {"records": await taken(consumer, there, count)}


@runs
async def consume_from_timestamp(
    bootstrap: str, topic: str, partition: int, timestamp: int
) -> dict[str, Any]:
    there = TopicPartition(topic, partition)
    async with started(
        AIOKafkaConsumer(bootstrap_servers=bootstrap, **security(), auto_offset_reset="none")
    ) as consumer:
        consumer.assign([there])
        found = (await consumer.offsets_for_times({there: timestamp}))[there]
        if found is None:
            return {"records": []}
        consumer.seek(there, found.offset)
        return {"records": await taken(consumer, there, None)}


@runs
async def consume_group(bootstrap: str, topic: str, group: str, count: int) -> dict[str, Any]:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        **security(),
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    async with started(consumer):
        records = await taken(consumer, None, count)
        await consumer.commit()
    return {"records": records}


@runs
async def list_offsets(bootstrap: str, topic: str, partition: int) -> dict[str, Any]:
    there = TopicPartition(topic, partition)
    async with started(AIOKafkaConsumer(bootstrap_servers=bootstrap, **security())) as consumer:
        earliest = await consumer.beginning_offsets([there])
        latest = await consumer.end_offsets([there])
    return {"earliest": earliest[there], "latest": latest[there]}


async def taken(consumer: Any, there: TopicPartition | None, count: int | None) -> list[dict[str, Any]]:
    """Read `count` records, or all of the partition up to its end."""
    end = (await consumer.end_offsets([there]))[there] if count is None else 0
    records = Records()
    progress = Progress()
    for _ in until():
        if len(records) >= count if count is not None else await consumer.position(there) >= end:
            break
        for batch in (await consumer.getmany(timeout_ms=200)).values():
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


def failed(answers: list[Any]) -> None:
    """Raise the first error among (name, code, …) answers."""
    for name, code, *rest in answers:
        if code:
            raise RuntimeError(f"{name}: error {code} {rest}")


@asynccontextmanager
async def instance(bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> AsyncIterator[Any]:
    """Open a producer of an id."""
    made = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        **security(),
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
    )
    await made.start()
    try:
        yield made
    finally:
        with suppress(KafkaError):
            # One that was fenced reports it once more.
            await made.stop()


async def begin_and_send(writer: Any, topic: str, value: str) -> None:
    await writer.begin_transaction()
    await writer.send_and_wait(topic, value.encode(), partition=0)


async def refused(writer: Any) -> dict[str, Any]:
    try:
        await writer.commit_transaction()
    except KafkaError:
        return {"refused": True}
    return {"refused": False}


@runs
async def transact(bootstrap: str, topic: str, transactional_id: str, count: int) -> dict[str, Any]:
    async with instance(bootstrap, transactional_id) as writer:
        for number in range(count):
            await begin_and_send(writer, topic, str(number))
            await (writer.abort_transaction() if number % 3 == 2 else writer.commit_transaction())
    return {}


@runs
async def fence(bootstrap: str, topic: str, transactional_id: str) -> dict[str, Any]:
    async with instance(bootstrap, transactional_id) as old:
        await begin_and_send(old, topic, "old")
        async with instance(bootstrap, transactional_id) as young:
            await begin_and_send(young, topic, "young")
            await young.commit_transaction()
        return await refused(old)


@runs
async def outlive(
    bootstrap: str,
    topic: str,
    transactional_id: str,
    timeout: int,  # noqa: ASYNC109  (the contract's name)
    wait: int,
) -> dict[str, Any]:
    async with instance(bootstrap, transactional_id, timeout) as writer:
        await begin_and_send(writer, topic, "late")
        await asyncio.sleep(wait / 1000)
        return await refused(writer)


@runs
async def copy(
    bootstrap: str, topic: str, target: str, group: str, transactional_id: str, count: int
) -> dict[str, Any]:
    reader = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        **security(),
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    copied = 0
    async with instance(bootstrap, transactional_id) as writer, started(reader):
        for _ in until():
            if copied >= count:
                break
            parts = await reader.getmany(timeout_ms=200, max_records=5)
            messages = [message for part in parts.values() for message in part]
            if not messages:
                continue
            await writer.begin_transaction()
            for message in messages:
                await writer.send(target, message.value + b"!", partition=0)
            offsets = {there: part[-1].offset + 1 for there, part in parts.items()}
            await writer.send_offsets_to_transaction(offsets, group)
            await writer.commit_transaction()
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
