"""Topics with records, for tests of handlers that need them as a background."""

from __future__ import annotations

from typing import Any

from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import Client


def create(client: Client, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic; `retention_ms="1"` and the like set configs."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        assignments=[],
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=text) for key, text in configs.items()
        ],
    )
    answer = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
    assert answer.topics[0].error_code == 0, answer.topics[0].error_message


def produce(client: Client, topic: str, count: int = 1, *, partition: int = 0, **stamp: Any) -> int:
    """Append `count` records of 100 bytes in one batch; return the offset after the last one."""
    wall_ms = client.gateway.now_ms
    batch = encode_batch([Record(i, wall_ms, None, bytes(100)) for i in range(count)], **stamp)
    data = PartitionProduceData(index=partition, records=bytes(batch))
    request = ProduceRequest(
        acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )
    answer = client.call(request, 9).responses[0].partition_responses[0]
    assert answer.error_code == 0, answer.error_message
    end: int = answer.base_offset + count
    return end
