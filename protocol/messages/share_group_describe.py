"""ShareGroupDescribe (77): the state and members of share groups."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, String, Uuid, message, struct, wire

NOT_REQUESTED = -(2**31)
"""The bits of `authorized_operations` when they were not asked for."""


@message(api=ApiKey.SHARE_GROUP_DESCRIBE, versions="1", flexible="0+", hot=True, elements_max=50_000)
class ShareGroupDescribeRequest:
    """A request for some share groups.

    Source: KIP-932 and Kafka 4.3's ShareGroupDescribeRequest.json.
    """

    group_ids: list[str] = wire(ArrayOf(String))
    include_authorized_operations: bool = wire(Bool)


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: UUID = wire(Uuid)
    topic_name: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@struct
class Assignment:
    """An assignment."""

    topic_partitions: list[TopicPartitions] = wire(ArrayOf(TopicPartitions))


@struct
class Member:
    """A member and the partitions it has."""

    member_id: str = wire(String)
    rack_id: str | None = wire(String, nullable="0+", default=None)
    member_epoch: int = wire(Int32)
    client_id: str = wire(String)
    client_host: str = wire(String)
    subscribed_topic_names: list[str] = wire(ArrayOf(String))
    assignment: Assignment = wire(Assignment)


@struct
class DescribedGroup:
    """A group."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    group_id: str = wire(String)
    group_state: str = wire(String)
    group_epoch: int = wire(Int32)
    assignment_epoch: int = wire(Int32)
    assignor_name: str = wire(String)
    members: list[Member] = wire(ArrayOf(Member))
    authorized_operations: int = wire(Int32, default=NOT_REQUESTED)


@message(api=ApiKey.SHARE_GROUP_DESCRIBE, versions="1", flexible="0+", hot=True)
class ShareGroupDescribeResponse:
    """The groups as they are now.

    Source: KIP-932 and Kafka 4.3's ShareGroupDescribeResponse.json.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    groups: list[DescribedGroup] = wire(ArrayOf(DescribedGroup))
