"""ShareFetch (78): acquire records for a member of a share group, and acknowledge earlier ones."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import (
    ArrayOf,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    RecordParts,
    Records,
    String,
    Uuid,
    message,
    struct,
    wire,
)

INT32_MAX = 2**31 - 1


@struct
class AcknowledgementBatch:
    """A range of offsets, and the outcome of its records: one for all of them, or one for each."""

    first_offset: int = wire(Int64)
    last_offset: int = wire(Int64)
    # 0: gap, 1: accept, 2: release, 3: reject, 4: renew
    acknowledge_types: list[int] = wire(ArrayOf(Int8))


@struct
class FetchPartition:
    """A partition to acquire from; what is acknowledged in it comes first."""

    partition_index: int = wire(Int32)
    acknowledgement_batches: list[AcknowledgementBatch] = wire(ArrayOf(AcknowledgementBatch))


@struct
class FetchTopic:
    """The partitions of one topic."""

    topic_id: UUID = wire(Uuid)
    partitions: list[FetchPartition] = wire(ArrayOf(FetchPartition))


@struct
class ForgottenTopic:
    """Partitions to take out of the share session."""

    topic_id: UUID = wire(Uuid)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.SHARE_FETCH, versions="1-2", flexible="0+", hot=True, elements_max=200_000)
class ShareFetchRequest:
    """A request for records that no other member has, waiting up to `max_wait_ms` for some.

    Source: KIP-932, KIP-1206 and KIP-1222 (v2), and Kafka 4.3's ShareFetchRequest.json. v0 was withdrawn
    before it was stable.
    """

    group_id: str | None = wire(String, nullable="0+", default=None)
    member_id: str | None = wire(String, nullable="0+")
    share_session_epoch: int = wire(Int32)  # 0: open a session, -1: close it
    max_wait_ms: int = wire(Int32)
    min_bytes: int = wire(Int32)
    max_bytes: int = wire(Int32, default=INT32_MAX)
    max_records: int = wire(Int32, "1+")
    batch_size: int = wire(Int32, "1+")  # the best number of records in a batch of acquired ones
    share_acquire_mode: int = wire(Int8, "2+", default=0, ignorable=True)  # 0: whole batches, 1: max_records
    is_renew_ack: bool = wire(Bool, "2+", default=False)
    topics: list[FetchTopic] = wire(ArrayOf(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = wire(ArrayOf(ForgottenTopic))


@struct
class LeaderIdAndEpoch:
    """The partition's current leader, named with NOT_LEADER_OR_FOLLOWER."""

    leader_id: int = wire(Int32)
    leader_epoch: int = wire(Int32)


@struct
class AcquiredRecords:
    """A range of records that the member has now, and how often they were delivered, this time included."""

    first_offset: int = wire(Int64)
    last_offset: int = wire(Int64)
    delivery_count: int = wire(Int16)


@struct
class PartitionData:
    """The outcome for one partition; batches may contain records that were not acquired."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    acknowledge_error_code: int = wire(Int16, default=0)
    acknowledge_error_message: str | None = wire(String, nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = wire(LeaderIdAndEpoch)
    records: bytes | bytearray | memoryview | RecordParts | None = wire(Records, nullable="0", default=b"")
    acquired_records: list[AcquiredRecords] = wire(ArrayOf(AcquiredRecords))


@struct
class ShareFetchableTopicResponse:
    """The partitions of one topic."""

    topic_id: UUID = wire(Uuid)
    partitions: list[PartitionData] = wire(ArrayOf(PartitionData))


@struct
class NodeEndpoint:
    """The address of a broker named in `current_leader`."""

    node_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    rack: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.SHARE_FETCH, versions="1-2", flexible="0+", hot=True)
class ShareFetchResponse:
    """Whole batches from each partition, and the ranges in them that the member has acquired.

    Source: KIP-932 and Kafka 4.3's ShareFetchResponse.json.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = wire(Int32, "1+")
    responses: list[ShareFetchableTopicResponse] = wire(ArrayOf(ShareFetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = wire(ArrayOf(NodeEndpoint))
