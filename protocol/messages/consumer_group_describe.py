"""ConsumerGroupDescribe (69): the state and members of groups of the new consumer protocol."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, String, Uuid, message, struct, wire

NOT_REQUESTED = -(2**31)
"""The bits of `…_authorized_operations` when they were not asked for."""


@message(api=ApiKey.CONSUMER_GROUP_DESCRIBE, versions="0-1", flexible="0+", hot=True, elements_max=50_000)
class ConsumerGroupDescribeRequest:
    """A request for some groups.

    Source: KIP-848. The kafka-python wheel has no specification of it.
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
    """A member, the partitions it has and those it is to have."""

    member_id: str = wire(String)
    instance_id: str | None = wire(String, nullable="0+", default=None)
    rack_id: str | None = wire(String, nullable="0+", default=None)
    member_epoch: int = wire(Int32)
    client_id: str = wire(String)
    client_host: str = wire(String)
    subscribed_topic_names: list[str] = wire(ArrayOf(String))
    subscribed_topic_regex: str | None = wire(String, nullable="0+", default=None)
    assignment: Assignment = wire(Assignment)
    target_assignment: Assignment = wire(Assignment)
    member_type: int = wire(Int8, "1+", default=-1, ignorable=True)  # -1: unknown, 0: classic, 1: consumer


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


@message(api=ApiKey.CONSUMER_GROUP_DESCRIBE, versions="0-1", flexible="0+", hot=True)
class ConsumerGroupDescribeResponse:
    """The groups as they are now.

    Source: KIP-848, KIP-1099 (v1 member type). The kafka-python wheel has no specification of it.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    groups: list[DescribedGroup] = wire(ArrayOf(DescribedGroup))
