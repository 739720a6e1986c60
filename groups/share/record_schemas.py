"""The contents of __share_group_state, and of share groups in __consumer_offsets, as Kafka declares them.

The keys of __consumer_offsets are those of groups/record_schemas.py, with types of their own.
Source: Kafka 4.3, share-coordinator/ and group-coordinator/src/main/resources/common/message/Share*.json;
checked against bytes that Kafka's own serializers wrote in tests/groups/share/test_record_schemas.py.
"""

from __future__ import annotations

from uuid import UUID

from protocol.wire import (
    ArrayOf,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Uuid,
    message,
    prepare_written,
    struct,
    wire,
)

# --- __share_group_state ------------------------------------------------------------------------------------


@message(versions="0", hot=True)
class ShareStateKey:
    """A share-partition (type 0: a snapshot of it, type 1: a change since the last snapshot)."""

    group_id: str = wire(String)
    topic_id: UUID = wire(Uuid)
    partition: int = wire(Int32)


@struct
class StateBatch:
    """Records in a row that are alike."""

    first_offset: int = wire(Int64)
    last_offset: int = wire(Int64)
    delivery_state: int = wire(Int8)  # 0: available, 2: acknowledged, 3: archiving, 4: archived
    delivery_count: int = wire(Int16)
    # Not in Kafka's schema: why a record is being archived.  Kafka's readers skip unknown tags.
    cause: str = wire(String, default="", tag=10_000, ignorable=True)


@message(versions="0", flexible="0+", hot=True)
class ShareSnapshotValue:
    """The whole state of a share-partition."""

    snapshot_epoch: int = wire(Int32)
    state_epoch: int = wire(Int32)
    leader_epoch: int = wire(Int32)
    start_offset: int = wire(Int64)
    delivery_complete_count: int = wire(Int32, default=-1, tag=0)
    create_timestamp: int = wire(Int64)
    write_timestamp: int = wire(Int64)
    state_batches: list[StateBatch] = wire(ArrayOf(StateBatch))


@message(versions="0", flexible="0+", hot=True)
class ShareUpdateValue:
    """A change of a share-partition; a start offset of -1 has not changed."""

    snapshot_epoch: int = wire(Int32)
    leader_epoch: int = wire(Int32)
    start_offset: int = wire(Int64)
    delivery_complete_count: int = wire(Int32, default=-1, tag=0)
    state_batches: list[StateBatch] = wire(ArrayOf(StateBatch))


# --- __consumer_offsets -------------------------------------------------------------------------------------


@message(versions="0", flexible="0+", hot=True)
class ShareGroupMemberMetadataValue:
    """A member and what it wants (type 10)."""

    rack_id: str | None = wire(String, nullable="0+")
    client_id: str = wire(String)
    client_host: str = wire(String)
    subscribed_topic_names: list[str] = wire(ArrayOf(String))


@message(versions="0", flexible="0+", hot=True)
class ShareGroupMetadataValue:
    """The epoch of a share group (type 11)."""

    epoch: int = wire(Int32)
    metadata_hash: int = wire(Int64)


@message(versions="0", flexible="0+", hot=True)
class ShareGroupTargetAssignmentMetadataValue:
    """The epoch that the target assignment was computed for, and when that was (type 12)."""

    assignment_epoch: int = wire(Int32)
    assignment_timestamp: int = wire(Int64, default=0, tag=0, ignorable=True)


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: UUID = wire(Uuid)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(versions="0", flexible="0+", hot=True)
class ShareGroupTargetAssignmentMemberValue:
    """The target assignment of a member (type 13)."""

    topic_partitions: list[TopicPartitions] = wire(ArrayOf(TopicPartitions))


@message(versions="0", flexible="0+", hot=True)
class ShareGroupCurrentMemberAssignmentValue:
    """The current assignment of a member (type 14)."""

    member_epoch: int = wire(Int32)
    previous_member_epoch: int = wire(Int32)
    state: int = wire(Int8)
    assigned_partitions: list[TopicPartitions] = wire(ArrayOf(TopicPartitions))


@struct
class TopicPartitionsInfo:
    """Partitions of one topic."""

    topic_id: UUID = wire(Uuid)
    topic_name: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@struct
class TopicInfo:
    """A topic."""

    topic_id: UUID = wire(Uuid)
    topic_name: str = wire(String)


@message(versions="0", flexible="0+", hot=True)
class ShareGroupStatePartitionMetadataValue:
    """The partitions whose share state exists, is being made, or is being deleted (type 15)."""

    initializing_topics: list[TopicPartitionsInfo] = wire(ArrayOf(TopicPartitionsInfo))
    initialized_topics: list[TopicPartitionsInfo] = wire(ArrayOf(TopicPartitionsInfo))
    deleting_topics: list[TopicInfo] = wire(ArrayOf(TopicInfo))


prepare_written(
    dict.fromkeys(
        (
            ShareStateKey,
            ShareSnapshotValue,
            ShareUpdateValue,
            ShareGroupMemberMetadataValue,
            ShareGroupMetadataValue,
            ShareGroupTargetAssignmentMetadataValue,
            ShareGroupTargetAssignmentMemberValue,
            ShareGroupCurrentMemberAssignmentValue,
            ShareGroupStatePartitionMetadataValue,
        ),
        (0,),
    )
)
