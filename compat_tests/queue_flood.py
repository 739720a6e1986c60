"""A share group with as many ranges of records in flight as there can be: every second record is acquired."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

GROUP: Final = "flooded"
TOPIC: Final = "flood"
MEMBER: Final = "3d8a2c1e-0000-4000-8000-000000000009"
PARTITIONS: Final = 10
RECORDS: Final = 10_000
"""Of each partition."""
ACCEPT: Final = 1


@contextmanager
def flood(broker: Broker) -> Iterator[int]:
    """Acquire all records of a topic and accept every second one; yield how many are under way."""
    create_topic(broker, TOPIC, PARTITIONS)
    producer = make_producer(broker)
    for number in range(RECORDS):
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, b"%d" % number, partition=partition)
        producer.poll(0)
    assert producer.flush(60) == 0
    with raw_client(broker) as raw:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        topic_id = raw.call(request, 12).topics[0].topic_id
        eventually(lambda: _has_joined(raw), waiting_for="the assignment")
        epoch = _acquire(raw, topic_id)
        for partition in range(PARTITIONS):
            _accept_every_second(raw, topic_id, partition, epoch + partition)
        yield PARTITIONS * RECORDS // 2


def _has_joined(raw: RawClient) -> bool:
    request = ShareGroupHeartbeatRequest(
        group_id=GROUP, member_id=MEMBER, member_epoch=0, subscribed_topic_names=[TOPIC]
    )
    answer = raw.call(request, 1)
    return bool(answer.assignment and answer.assignment.topic_partitions)


def _acquire(raw: RawClient, topic_id: UUID) -> int:
    """Acquire everything; return the epoch of the session."""
    places = [
        FetchPartition(partition_index=index, acknowledgement_batches=[]) for index in range(PARTITIONS)
    ]
    acquired = epoch = 0
    while acquired < PARTITIONS * RECORDS:
        request = ShareFetchRequest(
            group_id=GROUP,
            member_id=MEMBER,
            share_session_epoch=epoch,
            max_wait_ms=1_000,
            min_bytes=1,
            max_bytes=16 << 20,
            max_records=RECORDS,
            batch_size=RECORDS,
            topics=[] if epoch else [FetchTopic(topic_id=topic_id, partitions=places)],
            forgotten_topics_data=[],
        )
        answer = raw.call(request, 1)
        assert answer.error_code == 0, answer.error_message
        found = sum(
            part.last_offset - part.first_offset + 1
            for topic in answer.responses
            for data in topic.partitions
            for part in data.acquired_records
        )
        assert found, f"{acquired} records were acquired, and no more came"
        acquired, epoch = acquired + found, epoch + 1
    return epoch


def _accept_every_second(raw: RawClient, topic_id: UUID, partition: int, epoch: int) -> None:
    batches = [
        AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=[ACCEPT])
        for offset in range(1, RECORDS, 2)
    ]
    said = AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches)
    request = ShareAcknowledgeRequest(
        group_id=GROUP,
        member_id=MEMBER,
        share_session_epoch=epoch,
        topics=[AcknowledgeTopic(topic_id=topic_id, partitions=[said])],
    )
    (topic,) = raw.call(request, 1).responses
    assert topic.partitions[0].error_code == 0, topic
