"""Errors of share groups and their sessions."""

from __future__ import annotations

from uuid import UUID

from compat_tests.confluent import make_producer, produce
from compat_tests.error_cases.case import Scene, Told, provokes
from compat_tests.error_cases.groups import NOT_READY
from compat_tests.waiting import eventually
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

MEMBER = "3d8a2c1e-0000-4000-8000-000000000001"


def joined(scene: Scene, topic: str) -> None:
    """Join until the topic is assigned."""

    def beaten() -> bool:
        request = ShareGroupHeartbeatRequest(
            group_id=scene.name, member_id=MEMBER, member_epoch=0, subscribed_topic_names=[topic]
        )
        answer = scene.call(request, 1)
        assert answer.error_code in {0, *NOT_READY}, answer
        return answer.assignment is not None and bool(answer.assignment.topic_partitions)

    eventually(beaten, waiting_for="the assignment")


def topic_id(scene: Scene, topic: str) -> UUID:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    found: UUID = scene.call(request, 12).topics[0].topic_id
    return found


def acknowledging(scene: Scene, epoch: int, *topics: AcknowledgeTopic) -> ShareAcknowledgeRequest:
    return ShareAcknowledgeRequest(
        group_id=scene.name, member_id=MEMBER, share_session_epoch=epoch, topics=list(topics)
    )


@provokes(ErrorCode.SHARE_SESSION_NOT_FOUND)
def acknowledgement_without_a_session(scene: Scene) -> Told:
    return Told(scene.call(acknowledging(scene, 1), 1).error_code)


@provokes(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
def acknowledgement_that_opens_a_session(scene: Scene) -> Told:
    return Told(scene.call(acknowledging(scene, 0), 1).error_code)


@provokes(ErrorCode.INVALID_RECORD_STATE)
def acknowledgement_of_a_record_acknowledged_before(scene: Scene) -> Told:
    topic = scene.topic()
    found = topic_id(scene, topic)
    joined(scene, topic)
    place = FetchPartition(partition_index=0, acknowledgement_batches=[])
    fetch = ShareFetchRequest(
        group_id=scene.name,
        member_id=MEMBER,
        share_session_epoch=0,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        max_records=10,
        batch_size=10,
        topics=[FetchTopic(topic_id=found, partitions=[place])],
        forgotten_topics_data=[],
    )
    scene.call(fetch, 1)
    produce(make_producer(scene.broker), topic, [b"a", b"b"])
    fetch.topics, fetch.share_session_epoch = [], 1

    def acquired() -> bool:
        answer = scene.call(fetch, 1)
        fetch.share_session_epoch += 1
        return any(data.acquired_records for part in answer.responses for data in part.partitions)

    eventually(acquired, waiting_for="records")
    batch = AcknowledgementBatch(first_offset=1, last_offset=1, acknowledge_types=[1])
    places = [AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])]
    code = 0
    for _ in range(2):
        said = AcknowledgeTopic(topic_id=found, partitions=places)
        answer = scene.call(acknowledging(scene, fetch.share_session_epoch, said), 1)
        fetch.share_session_epoch += 1
        code = answer.responses[0].partitions[0].error_code
    return Told(code)
