"""ShareGroupHeartbeat (76): membership of a share group in one request."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, Uuid, message, struct, wire


@message(api=ApiKey.SHARE_GROUP_HEARTBEAT, versions="1", flexible="0+", hot=True)
class ShareGroupHeartbeatRequest:
    """A request to join, stay in or leave a share group; null means unchanged.

    Source: KIP-932 and Kafka 4.3's ShareGroupHeartbeatRequest.json. v0 was withdrawn before it was stable.
    """

    group_id: str = wire(String)
    member_id: str = wire(String)  # made by the member, for as long as its process lives
    member_epoch: int = wire(Int32)  # 0: join, -1: leave
    rack_id: str | None = wire(String, nullable="0+", default=None)
    subscribed_topic_names: list[str] | None = wire(ArrayOf(String), nullable="0+", default=None)


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: UUID = wire(Uuid)
    partitions: list[int] = wire(ArrayOf(Int32))


@struct
class Assignment:
    """The partitions that the member is advised to fetch from."""

    topic_partitions: list[TopicPartitions] = wire(ArrayOf(TopicPartitions))


@message(api=ApiKey.SHARE_GROUP_HEARTBEAT, versions="1", flexible="0+", hot=True)
class ShareGroupHeartbeatResponse:
    """The member's epoch, and its assignment when that changed.

    Source: KIP-932 and Kafka 4.3's ShareGroupHeartbeatResponse.json.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    member_id: str | None = wire(String, nullable="0+", default=None)
    member_epoch: int = wire(Int32)
    heartbeat_interval_ms: int = wire(Int32)
    assignment: Assignment | None = wire(Assignment, nullable="0+", default=None)  # None: unchanged
