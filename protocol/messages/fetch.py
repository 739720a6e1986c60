"""Fetch (1): read record batches from partitions."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import (
    ZERO_UUID,
    ArrayOf,
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

INT64_MAX = 2**63 - 1


@struct
class ReplicaState:
    """The follower that fetches."""

    replica_id: int = wire(Int32, default=-1)
    replica_epoch: int = wire(Int64, default=-1)


@struct
class FetchPartition:
    """The position to read from in one partition."""

    partition: int = wire(Int32)
    current_leader_epoch: int = wire(Int32, "9+", default=-1, ignorable=True)  # -1: do not check
    fetch_offset: int = wire(Int64)
    last_fetched_epoch: int = wire(Int32, "12+", default=-1)
    log_start_offset: int = wire(Int64, "5+", default=-1, ignorable=True)  # of a follower; -1: a client
    partition_max_bytes: int = wire(Int32)
    replica_directory_id: UUID = wire(Uuid, "17+", tag=0, default=ZERO_UUID, ignorable=True)
    high_watermark: int = wire(Int64, "18+", tag=1, default=INT64_MAX, ignorable=True)


@struct
class FetchTopic:
    """The partitions to read of one topic."""

    topic: str = wire(String, "0-12", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "13+", default=ZERO_UUID, ignorable=True)
    partitions: list[FetchPartition] = wire(ArrayOf(FetchPartition))


@struct
class ForgottenTopic:
    """Partitions to take out of the fetch session."""

    topic: str = wire(String, "7-12", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "13+", default=ZERO_UUID, ignorable=True)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.FETCH, versions="4-18", flexible="12+", hot=True, elements_max=200_000)
class FetchRequest:
    """A request to read from some partitions, waiting up to `max_wait_ms` for data.

    Followers use it too, with replica fields and the tags of v17 and v18; clients do not set those.
    Source: KIP-74 (max bytes), KIP-98 (v4 isolation), KIP-227 (v7 sessions), KIP-320 (v9 leader epochs),
    KIP-392 (v11 rack), KIP-595 (v12), KIP-516 (v13 topic ids), KIP-903 (v15), KIP-951 (v16), KIP-853 (v17),
    KIP-1166 (v18).
    """

    cluster_id: str | None = wire(String, "12+", tag=0, nullable="12+", default=None, ignorable=True)
    replica_id: int = wire(Int32, "0-14", default=-1)  # -1: a client
    replica_state: ReplicaState | None = wire(ReplicaState, "15+", tag=1, default=None)
    max_wait_ms: int = wire(Int32)
    min_bytes: int = wire(Int32)
    max_bytes: int = wire(Int32, default=INT32_MAX)
    isolation_level: int = wire(Int8, default=0)  # 0: read uncommitted, 1: read committed
    session_id: int = wire(Int32, "7+", default=0, ignorable=True)  # 0: no session, or open one
    session_epoch: int = wire(Int32, "7+", default=-1, ignorable=True)  # -1: no session, 0: open one
    topics: list[FetchTopic] = wire(ArrayOf(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = wire(ArrayOf(ForgottenTopic), "7+", default=[])
    rack_id: str = wire(String, "11+", default="", ignorable=True)


@struct
class EpochEndOffset:
    """The last offset that leader and follower have in common."""

    epoch: int = wire(Int32, default=-1)
    end_offset: int = wire(Int64, default=-1)


@struct
class LeaderIdAndEpoch:
    """The partition's current leader, sent with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH."""

    leader_id: int = wire(Int32, default=-1)
    leader_epoch: int = wire(Int32, default=-1)


@struct
class SnapshotId:
    """The snapshot to load instead (metadata quorum only)."""

    end_offset: int = wire(Int64, default=-1)
    epoch: int = wire(Int32, default=-1)


@struct
class AbortedTransaction:
    """A producer and the offset from which on its records were aborted."""

    producer_id: int = wire(Int64)
    first_offset: int = wire(Int64)


@struct
class PartitionData:
    """The data read from one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    high_watermark: int = wire(Int64)
    last_stable_offset: int = wire(Int64, default=-1)
    log_start_offset: int = wire(Int64, "5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset | None = wire(EpochEndOffset, "12+", tag=0, default=None)
    current_leader: LeaderIdAndEpoch | None = wire(LeaderIdAndEpoch, "12+", tag=1, default=None)
    snapshot_id: SnapshotId | None = wire(SnapshotId, "12+", tag=2, default=None)
    # null when reading uncommitted
    aborted_transactions: list[AbortedTransaction] | None = wire(
        ArrayOf(AbortedTransaction), nullable="0+", default=None
    )
    preferred_read_replica: int = wire(Int32, "11+", default=-1)  # -1: read here
    records: bytes | bytearray | memoryview | RecordParts | None = wire(Records, nullable="0+", default=None)


@struct
class FetchableTopicResponse:
    """The data read from one topic."""

    topic: str = wire(String, "0-12", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "13+", default=ZERO_UUID, ignorable=True)
    partitions: list[PartitionData] = wire(ArrayOf(PartitionData))


@struct
class NodeEndpoint:
    """The address of a broker named in `current_leader`."""

    node_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    rack: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.FETCH, versions="4-18", flexible="12+", hot=True)
class FetchResponse:
    """Whole batches from each partition that has some.

    Source: as for the request; KIP-595 (v12 diverging epochs), KIP-951 (v16 node endpoints).
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, "7+", default=0, ignorable=True)
    session_id: int = wire(Int32, "7+", default=0)
    responses: list[FetchableTopicResponse] = wire(ArrayOf(FetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = wire(ArrayOf(NodeEndpoint), "16+", tag=0, default=[])
