"""Short forms of the requests and records in tests of the broker: topics, batches, fetches.

topic_id = create(client, "t", partitions=2)
assert send(client, "t", batch(b"a", b"b")).base_offset == 0
assert read(client, "t") == [b"a", b"b"]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from protocol.compression import Codec
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import iter_batches
from protocol.wire import ZERO_UUID
from tests.broker.gateway import START_MS, Client

Target = tuple[str, int, bytes | bytearray | None]
"""Topic, partition, records."""


def creation(name: str, partitions: int = 1, **configs: str) -> CreatableTopic:
    """Return a topic to be created; underscores in the names of configs stand for dots."""
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        assignments=[],
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
        ],
    )


def create(client: Client, name: str, partitions: int = 1, **configs: str) -> UUID:
    """Create a topic and return its id."""
    request = CreateTopicsRequest(topics=[creation(name, partitions, **configs)])
    (made,) = client.call(request, 7).topics
    assert made.error_code == 0, made
    return UUID(int=made.topic_id.int)


def batch(
    *values: bytes,
    timestamp_ms: int = START_MS,
    codec: int = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
    key: bytes | None = None,
) -> bytearray:
    """Return a batch as a client sends it; `producer` is id, epoch and base sequence."""
    records = [Record(offset, timestamp_ms, key, value) for offset, value in enumerate(values)]
    identity, epoch, sequence = producer
    return encode_batch(
        records, codec=codec, producer_id=identity, producer_epoch=epoch, base_sequence=sequence
    )


def producing(*targets: Target, acks: int = -1, topic_id: UUID = ZERO_UUID) -> ProduceRequest:
    """Return a produce request with one batch for each target, one topic entry each."""
    topics = [
        TopicProduceData(
            name=name,
            topic_id=topic_id,
            partition_data=[PartitionProduceData(index=index, records=None if data is None else bytes(data))],
        )
        for name, index, data in targets
    ]
    return ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=topics)


def outcomes(answer: Any) -> list[Any]:
    """Return the answers for all partitions of a produce or list-offsets request, in order."""
    parts: list[Any] = []
    for topic in getattr(answer, "responses", None) or answer.topics:
        parts += topic.partition_responses if hasattr(topic, "partition_responses") else topic.partitions
    return parts


def send(
    client: Client, name: str, data: bytes | bytearray | None, partition: int = 0, version: int = 9
) -> Any:
    """Produce one batch with acks=all and return the answer for its partition."""
    (outcome,) = outcomes(client.call(producing((name, partition, data)), version))
    return outcome


def fetching(
    offsets: dict[tuple[str | UUID, int], int],
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
    leader_epoch: int = -1,
    isolation_level: int = 0,
) -> FetchRequest:
    """Return a fetch from these offsets, by topic name or id and partition."""
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session[0],
        session_epoch=session[1],
        topics=[
            FetchTopic(
                topic=topic if isinstance(topic, str) else "",
                topic_id=topic if isinstance(topic, UUID) else ZERO_UUID,
                partitions=[
                    FetchPartition(
                        partition=index,
                        fetch_offset=offset,
                        partition_max_bytes=partition_max_bytes,
                        current_leader_epoch=leader_epoch,
                    )
                ],
            )
            for (topic, index), offset in offsets.items()
        ],
    )


def fetched(answer: Any) -> dict[tuple[str | UUID, int], Any]:
    """Return the partitions of a fetch's answer, by topic name, or id if there is no name, and index."""
    return {
        (topic.topic or topic.topic_id, data.partition_index): data
        for topic in answer.responses
        for data in topic.partitions
    }


def fetch(client: Client, name: str, offset: int = 0, partition: int = 0, version: int = 12) -> Any:
    """Return the answer for one partition of a fetch that does not wait."""
    return fetched(client.call(fetching({(name, partition): offset}), version))[name, partition]


def values(records: Any) -> list[bytes]:
    """Return the values of the records that a fetch gave."""
    return [record.value or b"" for record in records_of(records)]


def records_of(records: Any) -> Iterable[Record]:
    """Yield the records that a fetch gave."""
    for stored in iter_batches(records):
        yield from iter_records(stored)


def read(client: Client, name: str, offset: int = 0, partition: int = 0) -> list[bytes]:
    """Return the values from an offset on, as far as one fetch gives them."""
    data = fetch(client, name, offset, partition)
    assert data.error_code == 0, data
    return values(data.records)


def offset_of(client: Client, name: str, timestamp: int, partition: int = 0, version: int = 9) -> Any:
    """Return the answer of ListOffsets for one partition."""
    (found,) = offsets_of(client, [(name, partition)], timestamp, version)
    return found


def offsets_of(
    client: Client, places: Iterable[tuple[str, int]], timestamp: int, version: int = 9
) -> list[Any]:
    """Return the answers of one ListOffsets for these partitions, in their order."""
    topics = [
        ListOffsetsTopic(
            name=name, partitions=[ListOffsetsPartition(partition_index=partition, timestamp=timestamp)]
        )
        for name, partition in places
    ]
    return outcomes(client.call(ListOffsetsRequest(replica_id=-1, topics=topics), version))
