"""Requests about share groups: of the member `m` of the group `g`, and about the group's progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from protocol.messages import share_acknowledge, share_fetch
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
from protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from protocol.messages.share_fetch import ShareFetchRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

Place = tuple[UUID, int]
Said = Mapping[Place, Sequence[tuple[int, int, list[int]]]]
"""First offset, last offset and types of acknowledgements, by partition."""


def beating(*topics: str, member_id: str = "m") -> ShareGroupHeartbeatRequest:
    """Return the first heartbeat of a member."""
    return ShareGroupHeartbeatRequest(
        group_id="g", member_id=member_id, member_epoch=0, subscribed_topic_names=list(topics or ("t",))
    )


def fetching(group_id: str | None = "g") -> ShareFetchRequest:
    """Return a fetch that opens a session without partitions."""
    return ShareFetchRequest(
        group_id=group_id,
        member_id="m",
        share_session_epoch=0,
        max_wait_ms=0,
        min_bytes=1,
        max_records=1,
        batch_size=1,
        topics=[],
        forgotten_topics_data=[],
    )


def acknowledging(group_id: str | None = "g") -> ShareAcknowledgeRequest:
    """Return acknowledgements of nothing."""
    return ShareAcknowledgeRequest(group_id=group_id, member_id="m", share_session_epoch=1, topics=[])


def fetching_from(
    group_id: str, member_id: str, epoch: int, places: Iterable[Place], said: Said
) -> ShareFetchRequest:
    """Return a fetch that adds partitions to a session, and acknowledges."""
    request = fetching(group_id)
    request.member_id, request.share_session_epoch = member_id, epoch
    request.max_records = request.batch_size = 100
    request.topics = [
        share_fetch.FetchTopic(
            topic_id=place[0],
            partitions=[
                share_fetch.FetchPartition(
                    partition_index=place[1],
                    acknowledgement_batches=[
                        share_fetch.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=types
                        )
                        for first, last, types in said.get(place, ())
                    ],
                )
            ],
        )
        for place in (*places, *said)
    ]
    return request


def acknowledging_in(
    group_id: str, member_id: str, epoch: int, place: Place, ranges: Iterable[tuple[int, int]]
) -> ShareAcknowledgeRequest:
    """Return acknowledgements that accept ranges of offsets in one partition."""
    request = acknowledging(group_id)
    request.member_id, request.share_session_epoch = member_id, epoch
    batches = [
        share_acknowledge.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[1])
        for first, last in ranges
    ]
    partition = share_acknowledge.AcknowledgePartition(
        partition_index=place[1], acknowledgement_batches=batches
    )
    request.topics = [share_acknowledge.AcknowledgeTopic(topic_id=place[0], partitions=[partition])]
    return request


def describing(*topics: str, group_ids: tuple[str, ...] = ("g",)) -> DescribeShareGroupOffsetsRequest:
    """Return a request for the progress of groups in the first partition of topics."""
    return DescribeShareGroupOffsetsRequest(
        groups=[
            DescribeShareGroupOffsetsRequestGroup(
                group_id=group_id,
                topics=[
                    DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[0])
                    for name in topics or ("t",)
                ],
            )
            for group_id in group_ids
        ]
    )


def describing_all(*group_ids: str) -> DescribeShareGroupOffsetsRequest:
    """Return a request for all progress of groups."""
    return DescribeShareGroupOffsetsRequest(
        groups=[
            DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None) for group_id in group_ids
        ]
    )


def altering(*topics: str, offset: int = 0) -> AlterShareGroupOffsetsRequest:
    """Return a request that moves the group in the first partition of topics."""
    item = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=offset)
    return AlterShareGroupOffsetsRequest(
        group_id="g",
        topics=[
            AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=[item])
            for name in topics or ("t",)
        ],
    )


def deleting(*topics: str) -> DeleteShareGroupOffsetsRequest:
    """Return a request that forgets the group's progress in topics."""
    return DeleteShareGroupOffsetsRequest(
        group_id="g",
        topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics or ("t",)],
    )
