"""The commands that a test can send to one broker; arguments and results are JSON with bytes in base64.

An operation is a coroutine `operation(broker, arguments)` in OPERATIONS.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from broker.handlers import APIS
from broker.server.testing.client import NoAnswer, OwnClient, own_client
from broker.server.testing.faults import Fault
from broker.server.testing.ram import RamBroker
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import CONTROL, iter_batches, read_batch_header

Arguments = dict[str, Any]
Operation = Callable[[RamBroker, Arguments], Awaitable[Any]]

EARLIEST, LATEST = -2, -1
TIMEOUT_MS = 5_000
FETCH_BYTES = 8 << 20


class Refused(Exception):
    """The broker answered with an error, or an argument cannot be used; the text is for the test's author."""


def check(code: int, what: str, message: str | None = None) -> None:
    """Raise Refused unless the code is 0."""
    if code:
        raise Refused(f"{what}: {ErrorCode(code).name}{f' ({message})' if message else ''}")


def error_named(name: str) -> ErrorCode:
    """Return the error code of that name.  Raises: Refused."""
    try:
        return ErrorCode[name]
    except KeyError:
        raise Refused(f"{name!r} is not an error of Kafka; give one like NOT_LEADER_OR_FOLLOWER") from None


def api_named(name: str) -> int:
    """Return the key of an API, whose name may be given as Produce, PRODUCE or produce.  Raises: Refused."""
    wanted = name.replace("_", "").lower()
    for key, api in APIS.items():
        if api.name.replace("_", "") == wanted:
            return key
    raise Refused(f"{name!r} is not an API of this broker; give one like Produce, Fetch or OffsetCommit")


@asynccontextmanager
async def client_of(broker: RamBroker) -> AsyncIterator[OwnClient]:
    """Connect to a running broker.  Raises: NotRunning, also if it stops meanwhile; NoAnswer."""
    broker.check_running()
    try:
        async with own_client(broker.port) as client:
            yield client
    except NoAnswer:
        broker.check_running()
        raise


async def start(broker: RamBroker, _: Arguments) -> None:
    """Start a stopped broker."""
    await broker.start()


async def stop(broker: RamBroker, _: Arguments) -> None:
    """Stop cleanly."""
    await broker.stop()


async def restart(broker: RamBroker, _: Arguments) -> None:
    """Stop cleanly, and start."""
    if broker.is_running:
        await broker.stop()
    await broker.start()


async def kill(broker: RamBroker, arguments: Arguments) -> None:
    """End the broker as SIGKILL or a power cut does."""
    await broker.kill(power_cut=arguments["power_cut"])


async def pause(broker: RamBroker, _: Arguments) -> None:
    """Stop serving clients until `resume`."""
    await broker.pause()


async def resume(broker: RamBroker, _: Arguments) -> None:
    """Serve again."""
    await broker.resume()


async def stop_clock(broker: RamBroker, _: Arguments) -> int:
    """Stop the clock and return the time."""
    broker.clock.stop()
    return broker.clock.now_ms()


async def start_clock(broker: RamBroker, _: Arguments) -> int:
    """Start the clock again and return the time."""
    broker.clock.go()
    await broker.advance(0)
    return broker.clock.now_ms()


async def advance(broker: RamBroker, arguments: Arguments) -> int:
    """Move the clock forward and return the time."""
    await broker.advance(arguments["ms"])
    return broker.clock.now_ms()


async def add_fault(broker: RamBroker, arguments: Arguments) -> int:
    """Add a fault and return its number."""
    api, error = arguments.get("api"), arguments.get("error")
    return broker.faults.add(
        Fault(
            kind=arguments["kind"],
            api_key=None if api is None else api_named(api),
            topic=arguments.get("topic"),
            partition=arguments.get("partition"),
            error=ErrorCode.NONE if error is None else error_named(error),
            delay_ms=arguments.get("delay_ms", 0),
            times=arguments.get("times"),
        )
    )


async def fault_hits(broker: RamBroker, arguments: Arguments) -> int:
    """Return the number of requests or commits that a fault has met."""
    return broker.faults.hits(arguments["number"])


async def heal(broker: RamBroker, arguments: Arguments) -> None:
    """End one fault, or all of them."""
    broker.faults.heal(arguments.get("number"))


async def disconnect(broker: RamBroker, _: Arguments) -> int:
    """Close every connection and return their number."""
    return broker.disconnect()


async def status(broker: RamBroker, _: Arguments) -> dict[str, Any]:
    """Return whether the broker runs, its time, its connections, and the requests of clients by API."""
    counts: dict[str, int] = {}
    connections = 0
    if broker.is_running:
        connections = len(broker.broker.connections)
        counts = {APIS[key].name: count for key, count in broker.broker.counts.items()}
    return {
        "running": broker.is_running,
        "failure": broker.failure,
        "now_ms": broker.clock.now_ms(),
        "connections": connections,
        "requests": counts,
    }


async def log(broker: RamBroker, _: Arguments) -> list[str]:
    """Return the lines of the broker's log."""
    return list(broker.lines)


async def create_topic(broker: RamBroker, arguments: Arguments) -> None:
    """Create a topic."""
    topic = CreatableTopic(
        name=arguments["topic"],
        num_partitions=arguments["partitions"],
        replication_factor=-1,
        assignments=[],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in arguments["configs"].items()],
    )
    async with client_of(broker) as client:
        answer = await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS), 5)
    check(
        answer.topics[0].error_code, f"topic {topic.name!r} was not created", answer.topics[0].error_message
    )


async def delete_topic(broker: RamBroker, arguments: Arguments) -> None:
    """Delete a topic."""
    name = arguments["topic"]
    async with client_of(broker) as client:
        answer = await client.call(DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS), 5)
    check(
        answer.responses[0].error_code, f"topic {name!r} was not deleted", answer.responses[0].error_message
    )


async def topics(broker: RamBroker, _: Arguments) -> dict[str, int]:
    """Return the topics with their number of partitions, without the broker's own."""
    async with client_of(broker) as client:
        found = await _metadata(client, None)
    return {str(topic.name): len(topic.partitions) for topic in found if not topic.is_internal}


async def _metadata(client: OwnClient, name: str | None) -> list[MetadataResponseTopic]:
    asked = None if name is None else [MetadataRequestTopic(name=name)]
    answer = await client.call(MetadataRequest(topics=asked, allow_auto_topic_creation=False), 9)
    found: list[MetadataResponseTopic] = answer.topics
    for topic in found:
        check(topic.error_code, f"topic {topic.name!r}")
    return found


async def produce(broker: RamBroker, arguments: Arguments) -> list[int]:
    """Append records to one partition and return their offsets."""
    topic, index = arguments["topic"], arguments["partition"]
    records = [
        Record(
            offset,
            broker.clock.now_ms() if item["timestamp_ms"] is None else item["timestamp_ms"],
            _decoded(item["key"]),
            _decoded(item["value"]),
            tuple((name, _decoded(value)) for name, value in item["headers"]),
        )
        for offset, item in enumerate(arguments["records"])
    ]
    data = TopicProduceData(
        name=topic, partition_data=[PartitionProduceData(index=index, records=encode_batch(records))]
    )
    async with client_of(broker) as client:
        await _metadata(client, topic)
        answer = await client.call(ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data]), 9)
    result = answer.responses[0].partition_responses[0]
    check(result.error_code, f"nothing was stored in {topic!r} partition {index}", result.error_message)
    return list(range(result.base_offset, result.base_offset + len(records)))


async def records(broker: RamBroker, arguments: Arguments) -> list[dict[str, Any]]:
    """Return all records of a topic, or of one partition, that a reader of committed records sees."""
    topic, wanted = arguments["topic"], arguments["partition"]
    found: list[dict[str, Any]] = []
    async with client_of(broker) as client:
        (described,) = await _metadata(client, topic)
        indexes = sorted(partition.partition_index for partition in described.partitions)
        if wanted is not None and wanted not in indexes:
            raise Refused(f"topic {topic!r} has no partition {wanted}: it has {len(indexes)}")
        for index in indexes if wanted is None else [wanted]:
            offset = await _offset(client, topic, index, EARLIEST)
            end = await _offset(client, topic, index, LATEST)
            while offset < end:
                batches = await _fetch(client, topic, index, offset)
                found += (
                    {"partition": index, **_encoded(record)} for record in _records_in(batches, offset, end)
                )
                last = [read_batch_header(batch).last_offset + 1 for batch in iter_batches(batches)]
                offset = max([offset + 1, *last])
    return found


async def _offset(client: OwnClient, topic: str, index: int, timestamp: int) -> int:
    partition = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])]
    )
    answer = (await client.call(request, 4)).topics[0].partitions[0]
    check(answer.error_code, f"topic {topic!r} partition {index}")
    offset: int = answer.offset
    return offset


async def _fetch(client: OwnClient, topic: str, index: int, offset: int) -> bytes:
    partition = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        isolation_level=1,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
    answer = (await client.call(request, 11)).responses[0].partitions[0]
    check(answer.error_code, f"topic {topic!r} partition {index} offset {offset}")
    return bytes(answer.records or b"")


def _records_in(batches: bytes, start: int, end: int) -> Iterator[Record]:
    for batch in iter_batches(batches):
        if not read_batch_header(batch).attributes & CONTROL:
            yield from (record for record in iter_records(batch) if start <= record.offset < end)


async def committed(broker: RamBroker, arguments: Arguments) -> list[tuple[str, int, int]]:
    """Return the offsets a group has committed as (topic, partition, offset)."""
    group = OffsetFetchRequestGroup(group_id=arguments["group"], topics=None)
    async with client_of(broker) as client:
        (answer,) = (await client.call(OffsetFetchRequest(groups=[group]), 8)).groups
    check(answer.error_code, f"group {arguments['group']!r}")
    return [
        (topic.name, partition.partition_index, partition.committed_offset)
        for topic in answer.topics
        for partition in topic.partitions
    ]


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def _text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _encoded(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [(name, _text(value)) for name, value in record.headers],
    }


OPERATIONS: dict[str, Operation] = {
    operation.__name__: operation
    for operation in (
        start, stop, restart, kill, pause, resume, stop_clock, start_clock, advance, add_fault, fault_hits,
        heal, disconnect, status, log, create_topic, delete_topic, topics, produce, records,
        committed,
    )
}  # fmt: skip
"""The operations by name."""
