"""ConsumerGroupHeartbeat (68): membership of the new consumer protocol in one request."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, Uuid, message, struct, wire


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: UUID = wire(Uuid)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.CONSUMER_GROUP_HEARTBEAT, versions="0-1", flexible="0+", hot=True, elements_max=50_000)
class ConsumerGroupHeartbeatRequest:
    """A request to join, stay in or leave a group, with the partitions held; null means unchanged.

    Source: KIP-848; v1 adds the regular expression and member ids made by the member (KIP-1082). The
    kafka-python wheel has no specification of it.
    """

    group_id: str = wire(String)
    member_id: str = wire(String)
    member_epoch: int = wire(Int32)  # 0: join, -1: leave, -2: leave for a while (static member)
    instance_id: str | None = wire(String, nullable="0+", default=None)
    rack_id: str | None = wire(String, nullable="0+", default=None)
    rebalance_timeout_ms: int = wire(Int32, default=-1)  # -1: unchanged
    subscribed_topic_names: list[str] | None = wire(ArrayOf(String), nullable="0+", default=None)
    subscribed_topic_regex: str | None = wire(String, "1+", nullable="1+", default=None)
    server_assignor: str | None = wire(String, nullable="0+", default=None)
    topic_partitions: list[TopicPartitions] | None = wire(
        ArrayOf(TopicPartitions), nullable="0+", default=None
    )


@struct
class Assignment:
    """The partitions that the member may use."""

    topic_partitions: list[TopicPartitions] = wire(ArrayOf(TopicPartitions))


@message(api=ApiKey.CONSUMER_GROUP_HEARTBEAT, versions="0-1", flexible="0+", hot=True)
class ConsumerGroupHeartbeatResponse:
    """The member's epoch, and its assignment when that changed.

    Source: KIP-848. The kafka-python wheel has no specification of it.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    member_id: str | None = wire(String, nullable="0+", default=None)
    member_epoch: int = wire(Int32)
    heartbeat_interval_ms: int = wire(Int32)
    assignment: Assignment | None = wire(Assignment, nullable="0+", default=None)  # None: unchanged
