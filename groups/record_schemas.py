"""The contents of __consumer_offsets, as Kafka declares them.

Keys have one version, identified by their type; values have all versions that Kafka ever wrote.
Source: Kafka 4.3, group-coordinator/src/main/resources/common/message/*.json; checked against bytes that
Kafka's own serializers wrote in tests/groups/test_record_schemas.py.
"""

from __future__ import annotations

from uuid import UUID

from protocol.wire import ZERO_UUID, ArrayOf, Bytes, Int8, Int32, Int64, String, Uuid, message, struct, wire


@message(versions="0", hot=True)
class OffsetCommitKey:
    """A partition whose progress is kept (types 0 and 1)."""

    group: str = wire(String)
    topic: str = wire(String)
    partition: int = wire(Int32)


@message(versions="0-4", flexible="4+", hot=True)
class OffsetCommitValue:
    """The progress: the offset of the next record to read."""

    offset: int = wire(Int64)
    leader_epoch: int = wire(Int32, "3+", default=-1, ignorable=True)
    metadata: str = wire(String)
    commit_timestamp: int = wire(Int64)
    expire_timestamp: int = wire(Int64, "1", default=-1, ignorable=True)
    topic_id: UUID = wire(Uuid, "4+", default=ZERO_UUID, tag=0, ignorable=True)
    # Not in Kafka's schema: the same time as in version 1, which has no topic id.  Kafka's readers skip
    # unknown tags.
    expires: int = wire(Int64, "4+", default=-1, tag=10_000, ignorable=True)


@message(versions="0", hot=True)
class GroupKey:
    """A group (types 2, 3, 4 and 6)."""

    group: str = wire(String)


@struct
class MemberMetadata:
    """A member of a classic group."""

    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, "3+", nullable="3+", default=None, ignorable=True)
    client_id: str = wire(String)
    client_host: str = wire(String)
    rebalance_timeout: int = wire(Int32, "1+", default=-1, ignorable=True)
    session_timeout: int = wire(Int32)
    subscription: bytes = wire(Bytes)
    assignment: bytes = wire(Bytes)


@message(versions="0-4", flexible="4+", hot=True)
class GroupMetadataValue:
    """A classic group as its last complete rebalance left it."""

    protocol_type: str = wire(String)
    generation: int = wire(Int32)
    protocol: str | None = wire(String, nullable="0+")
    leader: str | None = wire(String, nullable="0+")
    current_state_timestamp: int = wire(Int64, "2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = wire(ArrayOf(MemberMetadata))


@message(versions="0", flexible="0+", hot=True)
class ConsumerGroupMetadataValue:
    """The epoch of a consumer group."""

    epoch: int = wire(Int32)
    metadata_hash: int = wire(Int64, default=0, tag=0)


@message(versions="0", hot=True)
class GroupMemberKey:
    """A member of a consumer group (types 5, 7 and 8)."""

    group_id: str = wire(String)
    member_id: str = wire(String)


@struct
class ClassicProtocol:
    """A protocol of a classic member."""

    name: str = wire(String)
    metadata: bytes = wire(Bytes)


@message(versions="0", flexible="0+", hot=True)
class ClassicMemberMetadata:
    """The data that a consumer group keeps about a member that speaks the classic protocol.

    It is the tagged field 0 of ConsumerGroupMemberMetadataValue, after a byte 1; a single byte 0 is null.
    Kafka marks only tagged structs this way, all others by -1 and 1. It always writes the field, and so does
    records.py, with the same marks.
    """

    session_timeout_ms: int = wire(Int32)
    supported_protocols: list[ClassicProtocol] = wire(ArrayOf(ClassicProtocol))


@message(versions="0", flexible="0+", hot=True)
class ConsumerGroupMemberMetadataValue:
    """A member and what it wants; see ClassicMemberMetadata for its tagged field 0."""

    instance_id: str | None = wire(String, nullable="0+")
    rack_id: str | None = wire(String, nullable="0+")
    client_id: str = wire(String)
    client_host: str = wire(String)
    subscribed_topic_names: list[str] = wire(ArrayOf(String))
    subscribed_topic_regex: str | None = wire(String, nullable="0+")
    rebalance_timeout_ms: int = wire(Int32, default=-1)
    server_assignor: str | None = wire(String, nullable="0+")


@message(versions="0", flexible="0+", hot=True)
class ConsumerGroupTargetAssignmentMetadataValue:
    """The epoch that the target assignment was computed for, and when that was."""

    assignment_epoch: int = wire(Int32)
    assignment_timestamp: int = wire(Int64, default=0, tag=0)


@struct
class TargetPartitions:
    """Partitions of one topic."""

    topic_id: UUID = wire(Uuid)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(versions="0", flexible="0+", hot=True)
class ConsumerGroupTargetAssignmentMemberValue:
    """The target assignment of a member."""

    topic_partitions: list[TargetPartitions] = wire(ArrayOf(TargetPartitions))


@struct
class CurrentPartitions:
    """Partitions of one topic, each with the epoch in which the member got it."""

    topic_id: UUID = wire(Uuid)
    partitions: list[int] = wire(ArrayOf(Int32))
    assignment_epochs: list[int] | None = wire(ArrayOf(Int32), nullable="0+", default=[], tag=0)


@message(versions="0", flexible="0+", hot=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    """The current assignment of a member."""

    member_epoch: int = wire(Int32)
    previous_member_epoch: int = wire(Int32)
    state: int = wire(Int8)
    assigned_partitions: list[CurrentPartitions] = wire(ArrayOf(CurrentPartitions))
    partitions_pending_revocation: list[CurrentPartitions] = wire(ArrayOf(CurrentPartitions))


@message(versions="0", hot=True)
class RegularExpressionKey:
    """A regular expression that members of a group subscribe to (type 16)."""

    group_id: str = wire(String)
    regular_expression: str = wire(String)


@message(versions="0", flexible="0+", hot=True)
class ConsumerGroupRegularExpressionValue:
    """The topics that a regular expression stands for."""

    topics: list[str] = wire(ArrayOf(String))
    version: int = wire(Int64)
    timestamp: int = wire(Int64)
