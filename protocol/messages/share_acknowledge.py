"""ShareAcknowledge (79): say what became of acquired records, without fetching more."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, Int64, String, Uuid, message, struct, wire


@struct
class AcknowledgementBatch:
    """A range of offsets, and the outcome of its records: one for all of them, or one for each."""

    first_offset: int = wire(Int64)
    last_offset: int = wire(Int64)
    # 0: gap, 1: accept, 2: release, 3: reject, 4: renew
    acknowledge_types: list[int] = wire(ArrayOf(Int8))


@struct
class AcknowledgePartition:
    """The records to acknowledge in one partition."""

    partition_index: int = wire(Int32)
    acknowledgement_batches: list[AcknowledgementBatch] = wire(ArrayOf(AcknowledgementBatch))


@struct
class AcknowledgeTopic:
    """The records to acknowledge in one topic."""

    topic_id: UUID = wire(Uuid)
    partitions: list[AcknowledgePartition] = wire(ArrayOf(AcknowledgePartition))


@message(api=ApiKey.SHARE_ACKNOWLEDGE, versions="1-2", flexible="0+", hot=True, elements_max=200_000)
class ShareAcknowledgeRequest:
    """The outcome of records that a member of a share group has acquired.

    Source: KIP-932, KIP-1222 (v2 renewals), and Kafka 4.3's ShareAcknowledgeRequest.json.
    """

    group_id: str | None = wire(String, nullable="0+", default=None)
    member_id: str | None = wire(String, nullable="0+")
    share_session_epoch: int = wire(Int32)  # -1: close the session
    is_renew_ack: bool = wire(Bool, "2+", default=False)
    topics: list[AcknowledgeTopic] = wire(ArrayOf(AcknowledgeTopic))


@struct
class LeaderIdAndEpoch:
    """The partition's current leader, named with NOT_LEADER_OR_FOLLOWER."""

    leader_id: int = wire(Int32)
    leader_epoch: int = wire(Int32)


@struct
class PartitionData:
    """The outcome for one partition: all of its acknowledgements count, or none."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = wire(LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse:
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


@message(api=ApiKey.SHARE_ACKNOWLEDGE, versions="1-2", flexible="0+", hot=True)
class ShareAcknowledgeResponse:
    """The outcome by partition.

    Source: KIP-932, KIP-1222 (v2 lock timeout), and Kafka 4.3's ShareAcknowledgeResponse.json.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = wire(Int32, "2+", default=0, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = wire(ArrayOf(ShareAcknowledgeTopicResponse))
    node_endpoints: list[NodeEndpoint] = wire(ArrayOf(NodeEndpoint))
