"""A decoded request is weighed by its elements, as what it really takes; hot requests pay nothing for it."""

from __future__ import annotations

import tracemalloc
from typing import Any
from uuid import UUID

import pytest

from broker.connections.message_weight import LARGE_FRAME_BYTES, TEXT_FACTOR, WORK_FACTOR, message_weight
from broker.handlers import APIS
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import ProduceRequest
from protocol.wire import decode, encode
from tests.broker.kit import batch, producing

COUNT = 3_000


def fetch_of_many() -> FetchRequest:
    partitions = [
        FetchPartition(partition=1_000 + n, fetch_offset=10**9 + n, partition_max_bytes=10**6 + n)
        for n in range(COUNT)
    ]
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="t", partitions=partitions)])


def fetch_that_forgets() -> FetchRequest:
    topics = [ForgottenTopic(topic=f"topic-{n}", partitions=[1_000 + n]) for n in range(COUNT)]
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=[], forgotten_topics_data=topics)


def metadata_of_many() -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=f"topic-{n}") for n in range(COUNT)])


def commit_of_many() -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=1_000 + n, committed_offset=10**9 + n, committed_metadata=f"m-{n}"
        )
        for n in range(COUNT)
    ]
    return OffsetCommitRequest(
        group_id="g", member_id="", topics=[OffsetCommitRequestTopic(name="topic", partitions=partitions)]
    )


@pytest.mark.parametrize(
    ("request_of_many", "version"),
    [(fetch_of_many, 11), (fetch_that_forgets, 11), (metadata_of_many, 9), (commit_of_many, 8)],
)
def test_a_request_of_many_elements_weighs_what_decoding_it_takes(request_of_many: Any, version: int) -> None:
    request = request_of_many()
    data = memoryview(b"".join(encode(request, version)))  # type: ignore[arg-type]
    decode(type(request), version, data)  # the codec is made at its first use
    tracemalloc.start()
    decoded, _ = decode(type(request), version, data)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    weight = (len(data) + message_weight(decoded, 0) / WORK_FACTOR) / taken
    assert 0.7 < weight < 1.7, f"weighed as {weight:.2f} of what it takes"


def test_one_batch_weighs_little_more_than_its_bytes() -> None:
    request = producing(("t", 0, batch(b"v" * 100_000)))
    assert message_weight(request, 100_000) < 2_500


def test_a_request_without_elements_weighs_nothing_more() -> None:
    assert message_weight(ApiVersionsRequest(), 20) == 0
    assert message_weight(MetadataRequest(topics=None), 20) == 0


def test_strings_of_a_large_request_may_take_four_times_their_bytes() -> None:
    request = MetadataRequest(topics=[])
    assert message_weight(request, LARGE_FRAME_BYTES) == (TEXT_FACTOR - 1) * LARGE_FRAME_BYTES
    assert message_weight(request, LARGE_FRAME_BYTES - 1) == 0
    assert message_weight(ProduceRequest(acks=1, timeout_ms=1, topic_data=[]), LARGE_FRAME_BYTES) == 0


def test_every_request_that_is_served_can_be_weighed() -> None:
    for api in APIS.values():
        cls = api.request_type()
        fields: dict[str, Any] = {
            field.name: [] if field.default is not None else None for field in cls.__wire__.fields
        }
        request = cls(**fields)
        assert message_weight(request, 0) >= 0


def test_of_a_wide_message_no_more_is_looked_at_than_tells_that_it_is_wide() -> None:
    looked_at: list[int] = []

    class Topic:
        def __init__(self, number: int) -> None:
            self._number = number

        @property
        def partitions(self) -> list[int]:
            looked_at.append(self._number)
            return []

    topics: Any = [Topic(number) for number in range(COUNT)]
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics)
    assert message_weight(request, 0, 512 << 10) > 512 << 10
    assert not looked_at
    assert message_weight(request, 0) > 512 << 10
    assert len(looked_at) == COUNT


def test_what_a_structure_holds_is_weighed_and_one_that_is_null_is_not() -> None:
    parts = [TopicPartitions(topic_id=UUID(int=number), partitions=[0]) for number in range(COUNT)]
    answer = ConsumerGroupHeartbeatResponse(
        member_id="a", member_epoch=1, heartbeat_interval_ms=5, assignment=Assignment(topic_partitions=parts)
    )
    assert message_weight(answer, 0) > COUNT * 100
    answer.assignment = None
    assert message_weight(answer, 0) == 0
