"""Errors of Produce, Fetch, ListOffsets, DeleteRecords and OffsetForLeaderEpoch."""

from __future__ import annotations

import resource
from typing import Any

from compat_tests.batches import Batch
from compat_tests.error_cases.case import Scene, Told, provokes
from compat_tests.requests import fetch_request, list_offset, producer_id, topic_id
from compat_tests.requests import produce as send
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

ONE_MIB = 1 << 20


def produced(scene: Scene, topic: Any, batch: Any, **options: Any) -> Told:
    """Produce, and return what is said of the partition."""
    part = send(scene.raw, topic, batch, **options)
    why = [record_error.batch_index_error_message for record_error in part.record_errors]
    return Told(part.error_code, " ".join([str(part.error_message), *why]))


def fetched(scene: Scene, topic: Any, offset: int, *, version: int = 12, **fields: Any) -> Told:
    """Fetch, and return what is said of the partition."""
    part = scene.call(fetch_request(topic, offset, **fields), version).responses[0].partitions[0]
    return Told(part.error_code)


@provokes(ErrorCode.NONE)
def good_batch(scene: Scene) -> Told:
    return produced(scene, scene.topic(), Batch())


@provokes(ErrorCode.OFFSET_OUT_OF_RANGE)
def fetch_beyond_the_end(scene: Scene) -> Told:
    return fetched(scene, scene.topic(), 100)


@provokes(ErrorCode.CORRUPT_MESSAGE, "CRC", "0x00000001")
def wrong_crc(scene: Scene) -> Told:
    return produced(scene, scene.topic(), Batch(crc=1))


@provokes(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "7")
def partition_that_does_not_exist(scene: Scene) -> Told:
    return produced(scene, scene.topic(), Batch(), partition=7)


@provokes(ErrorCode.MESSAGE_TOO_LARGE, "max.message.bytes", "1000")
def batch_above_the_topics_limit(scene: Scene) -> Told:
    return produced(scene, scene.topic(max_message_bytes="1000"), Batch(values=[b"x" * 2_000]))


@provokes(ErrorCode.RECORD_LIST_TOO_LARGE, "segment.bytes", "1048576")
def batch_above_the_segments_limit(scene: Scene) -> Told:
    topic = scene.topic(segment_bytes=str(ONE_MIB), max_message_bytes=str(3 * ONE_MIB))
    return produced(scene, topic, Batch(values=[b"x" * (ONE_MIB + 1)]))


@provokes(ErrorCode.INVALID_REQUIRED_ACKS, "2")
def acks_of_two(scene: Scene) -> Told:
    return produced(scene, scene.topic(), Batch(), acks=2)


@provokes(ErrorCode.INVALID_TIMESTAMP, "5", "within [")
def record_of_long_ago(scene: Scene) -> Told:
    topic = scene.topic(message_timestamp_before_max_ms="1000")
    return produced(scene, topic, Batch(base_timestamp=5))


@provokes(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "5")
def sequence_with_a_gap(scene: Scene) -> Told:
    topic, (who, epoch) = scene.topic(), producer_id(scene.raw)
    first = Batch(producer_id=who, producer_epoch=epoch, base_sequence=0)
    assert produced(scene, topic, first).code == 0
    return produced(scene, topic, first.but(base_sequence=5))


@provokes(ErrorCode.INVALID_PRODUCER_EPOCH, "epoch", "0", "3")
def epoch_of_the_past(scene: Scene) -> Told:
    topic, (who, _) = scene.topic(), producer_id(scene.raw)
    first = Batch(producer_id=who, producer_epoch=3, base_sequence=0)
    assert produced(scene, topic, first).code == 0
    return produced(scene, topic, first.but(producer_epoch=0, base_sequence=1))


@provokes(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactional")
def transactional_batch_without_an_id(scene: Scene) -> Told:
    return produced(
        scene, scene.topic(), Batch(attributes=16, producer_id=1, producer_epoch=0, base_sequence=0)
    )


@provokes(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
def zstd_in_an_old_version(scene: Scene) -> Told:
    part = send(scene.raw, scene.topic(), Batch(attributes=4, payload=b""), version=6)
    return Told(part.error_code, part.error_message)


@provokes(ErrorCode.INVALID_RECORD, "control")
def control_batch_of_a_client(scene: Scene) -> Told:
    return produced(scene, scene.topic(), Batch(attributes=32))


@provokes(
    ErrorCode.KAFKA_STORAGE_ERROR,
    "durable",
    "log",
    kafka=ErrorCode.NONE,
    differs="Kafka leaves writing to the page cache; if that fails, it stops the node",
)
def disk_that_takes_nothing(scene: Scene) -> Told:
    broker = scene.start_broker()
    create_topic(broker, "t")
    with raw_client(broker) as raw:
        if broker.kind == "kawal":
            resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        part = send(raw, "t", Batch())
    return Told(part.error_code, part.error_message)


@provokes(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
def session_that_was_never_opened(scene: Scene) -> Told:
    answer = scene.call(fetch_request(scene.topic(), 0, session_id=123, session_epoch=1), 12)
    return Told(answer.error_code)


@provokes(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
def session_with_a_wrong_epoch(scene: Scene) -> Told:
    topic = scene.topic()
    opened = scene.call(fetch_request(topic, 0, session_id=0, session_epoch=0), 12)
    answer = scene.call(fetch_request(topic, 0, session_id=opened.session_id, session_epoch=9), 12)
    return Told(answer.error_code)


@provokes(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
def session_opened_by_name_and_continued_by_id(scene: Scene) -> Told:
    topic = scene.topic()
    opened = scene.call(fetch_request(topic, 0, session_id=0, session_epoch=0), 12)
    identity = topic_id(scene.raw, topic)
    answer = scene.call(fetch_request(identity, 0, session_id=opened.session_id, session_epoch=1), 13)
    return Told(answer.error_code)


@provokes(ErrorCode.UNKNOWN_TOPIC_ID)
def topic_by_an_id_that_nobody_has(scene: Scene) -> Told:
    unknown = type(topic_id(scene.raw, scene.topic()))(int=12345)
    return fetched(scene, unknown, 0, version=13)


@provokes(ErrorCode.FENCED_LEADER_EPOCH)
def leader_epoch_of_the_past(scene: Scene) -> Told:
    """Ask with a negative epoch: no leader ever had one, as the epoch of the one leader is 0."""
    return Told(list_offset(scene.raw, scene.topic(), -1, current_leader_epoch=-5).error_code)


@provokes(ErrorCode.UNKNOWN_LEADER_EPOCH)
def leader_epoch_of_the_future(scene: Scene) -> Told:
    asked = FetchPartition(partition=0, fetch_offset=0, current_leader_epoch=9, partition_max_bytes=ONE_MIB)
    topics = [FetchTopic(topic=scene.topic(), partitions=[asked])]
    answer = scene.call(FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics), 12)
    return Told(answer.responses[0].partitions[0].error_code)


@provokes(ErrorCode.UNSUPPORTED_VERSION)
def special_time_that_the_version_does_not_know(scene: Scene) -> Told:
    return Told(list_offset(scene.raw, scene.topic(), -3, version=6).error_code)


@provokes(ErrorCode.POLICY_VIOLATION)
def deletion_of_records_that_are_to_be_compacted(scene: Scene) -> Told:
    topic = scene.topic(cleanup_policy="compact")
    asked = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=0)])

    def answered() -> Any:
        request = DeleteRecordsRequest(topics=[asked], timeout_ms=10_000)
        return scene.call(request, 2).topics[0].partitions[0]

    return Told(eventually(answered, waiting_for="an answer").error_code)
