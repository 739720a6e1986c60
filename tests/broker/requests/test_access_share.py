"""Requests of share groups need READ on the group, and on each topic whose records they touch."""

from __future__ import annotations

from typing import Any

from broker.connections.response_errors import errors_of
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from tests.broker.guarded import ALICE, GROUP, Guarded
from tests.broker.kit import create

GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def answered(guarded: Guarded, request: Any, version: int) -> list[int]:
    return errors_of(guarded.of(ALICE).call(request, version)) or []


def test_a_fetch_needs_read_on_the_group_and_on_each_topic() -> None:
    guarded = Guarded()
    identity = create(guarded.admin, "t")
    topic = FetchTopic(
        topic_id=identity, partitions=[FetchPartition(partition_index=0, acknowledgement_batches=[])]
    )
    request = ShareFetchRequest(
        group_id="g",
        member_id="AAAAAAAAAAAAAAAAAAAAAA",
        share_session_epoch=0,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1000,
        max_records=10,
        batch_size=10,
        topics=[topic],
        forgotten_topics_data=[],
    )
    assert answered(guarded, request, 1) == [GROUP_DENIED]
    guarded.allow(Operation.READ, GROUP, "g")
    assert answered(guarded, request, 1) == [TOPIC_DENIED]


def test_offsets_are_altered_and_deleted_for_topics_that_may_be_read() -> None:
    guarded = Guarded()
    create(guarded.admin, "t")
    partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    asked = AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=[partition])
    alter = AlterShareGroupOffsetsRequest(group_id="g", topics=[asked])
    delete = DeleteShareGroupOffsetsRequest(
        group_id="g", topics=[DeleteShareGroupOffsetsRequestTopic(topic_name="t")]
    )
    assert answered(guarded, alter, 0) == [GROUP_DENIED]
    assert answered(guarded, delete, 0) == [GROUP_DENIED]


def test_offsets_of_topics_that_may_not_be_seen_are_refused() -> None:
    guarded = Guarded()
    create(guarded.admin, "t")
    topic = DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=[0])
    group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=[topic])
    request = DescribeShareGroupOffsetsRequest(groups=[group])
    assert answered(guarded, request, 0) == [GROUP_DENIED]
