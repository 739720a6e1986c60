"""TxnOffsetCommit (28): commit offsets of a group as part of a transaction."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire


@struct
class TxnOffsetCommitRequestPartition:
    """The progress in one partition."""

    partition_index: int = wire(Int32)
    committed_offset: int = wire(Int64)
    committed_leader_epoch: int = wire(Int32, "2+", default=-1, ignorable=True)  # -1: unknown
    committed_metadata: str | None = wire(String, nullable="0+")


@struct
class TxnOffsetCommitRequestTopic:
    """The progress in one topic."""

    name: str = wire(String)
    partitions: list[TxnOffsetCommitRequestPartition] = wire(ArrayOf(TxnOffsetCommitRequestPartition))


@message(api=ApiKey.TXN_OFFSET_COMMIT, versions="0-5", flexible="3+", hot=True, elements_max=200_000)
class TxnOffsetCommitRequest:
    """A request to store offsets that count once the transaction commits.

    Source: KIP-98, KIP-320 (v2 leader epoch), KIP-447 (v3 group membership), KIP-890 (v4, v5).
    """

    transactional_id: str = wire(String)
    group_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    generation_id: int = wire(Int32, "3+", default=-1)  # -1: no group membership
    member_id: str = wire(String, "3+", default="")
    group_instance_id: str | None = wire(String, "3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = wire(ArrayOf(TxnOffsetCommitRequestTopic))


@struct
class TxnOffsetCommitResponsePartition:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@struct
class TxnOffsetCommitResponseTopic:
    """The outcomes for one topic."""

    name: str = wire(String)
    partitions: list[TxnOffsetCommitResponsePartition] = wire(ArrayOf(TxnOffsetCommitResponsePartition))


@message(api=ApiKey.TXN_OFFSET_COMMIT, versions="0-5", flexible="3+", hot=True)
class TxnOffsetCommitResponse:
    """The outcome for each partition.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    topics: list[TxnOffsetCommitResponseTopic] = wire(ArrayOf(TxnOffsetCommitResponseTopic))
