"""The requests of the raw tests with everything but the point of the test filled in."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from compat_tests.batches import Batch, Stored, stored_batches
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

ZERO = UUID(int=0)
COORDINATOR_LOAD_IN_PROGRESS = 14


def produce_request(
    topic: str | UUID, records: bytes | Batch | None, *, partition: int = 0, acks: int = -1, **fields: Any
) -> ProduceRequest:
    """Produce to one partition; a topic id goes with v13."""
    data = records.encode() if isinstance(records, Batch) else records
    return ProduceRequest(
        acks=acks,
        timeout_ms=10_000,
        topic_data=[
            TopicProduceData(
                name=topic if isinstance(topic, str) else "",
                topic_id=topic if isinstance(topic, UUID) else ZERO,
                partition_data=[PartitionProduceData(index=partition, records=data)],
            )
        ],
        **fields,
    )


def produce(
    raw: RawClient, topic: str | UUID, records: bytes | Batch | None, *, version: int = 11, **options: Any
) -> Any:
    """Produce to one partition and return its part of the answer."""
    answer = raw.call(produce_request(topic, records, **options), version)
    return answer.responses[0].partition_responses[0]


def fetch_request(topic: str | UUID, *offsets: int, **fields: Any) -> FetchRequest:
    """Fetch from the first partitions of one topic, from these offsets; a topic id goes with v13+."""
    partition_max_bytes = fields.pop("partition_max_bytes", 1_000_000)
    return FetchRequest(
        topics=[
            FetchTopic(
                topic=topic if isinstance(topic, str) else "",
                topic_id=topic if isinstance(topic, UUID) else ZERO,
                partitions=[
                    FetchPartition(partition=i, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
                    for i, offset in enumerate(offsets)
                ],
            )
        ],
        **{"max_wait_ms": 0, "min_bytes": 1, **fields},
    )


def fetch(raw: RawClient, topic: str | UUID, offset: int, *, version: int = 12, **fields: Any) -> Any:
    """Fetch from partition 0 and return its part of the answer."""
    answer = raw.call(fetch_request(topic, offset, **fields), version)
    assert answer.error_code == 0
    return answer.responses[0].partitions[0]


def fetched_batches(raw: RawClient, topic: str, offset: int = 0, **fields: Any) -> list[Stored]:
    """Fetch from partition 0 and return the batches."""
    part = fetch(raw, topic, offset, **fields)
    assert part.error_code == 0, part.error_code
    return stored_batches(part.records or b"")


def list_offset(
    raw: RawClient, topic: str, timestamp: int, *, version: int = 9, partition: int = 0, **fields: Any
) -> Any:
    """Look up one timestamp in one partition and return that part of the answer."""
    asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, **fields)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    return raw.call(request, version).topics[0].partitions[0]


def topic_id(raw: RawClient, topic: str) -> UUID:
    """Return the id of an existing topic."""
    answer = raw.call(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12)
    found: UUID = answer.topics[0].topic_id
    assert found.int
    return found


def producer_id(raw: RawClient, *, version: int = 4) -> tuple[int, int]:
    """Ask for an id and epoch for an idempotent producer; Kafka needs a while for the first one."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)

    def granted() -> Any:
        answer = raw.call(request, version)
        return answer if answer.error_code != COORDINATOR_LOAD_IN_PROGRESS else None

    answer = eventually(granted, waiting_for="a producer id")
    assert answer.error_code == 0
    return answer.producer_id, answer.producer_epoch
