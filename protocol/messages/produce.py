"""Produce (0): append record batches to partitions."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import (
    ZERO_UUID,
    ArrayOf,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    Uuid,
    message,
    struct,
    wire,
)


@struct
class PartitionProduceData:
    """The batch for one partition."""

    index: int = wire(Int32)
    records: bytes | bytearray | memoryview | None = wire(Records, nullable="0+", default=None)


@struct
class TopicProduceData:
    """The batches for one topic."""

    name: str = wire(String, "0-12", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "13+", default=ZERO_UUID, ignorable=True)
    partition_data: list[PartitionProduceData] = wire(ArrayOf(PartitionProduceData))


@message(api=ApiKey.PRODUCE, versions="3-13", flexible="9+", hot=True, elements_max=200_000)
class ProduceRequest:
    """A request to append one batch to each of some partitions.

    v13 names topics by id alone. Versions 0 to 2 (magic 0 and 1) no longer exist, but brokers advertise them
    for librdkafka before 2.11.
    Source: KIP-98 (v3 transactional id), KIP-110 (v7 zstd), KIP-896 (removed versions), KIP-890 (v12),
    KIP-516 (v13).
    """

    transactional_id: str | None = wire(String, nullable="0+", default=None)
    acks: int = wire(Int16)  # 0: no answer at all, 1: leader only, -1: all in-sync replicas
    timeout_ms: int = wire(Int32)
    topic_data: list[TopicProduceData] = wire(ArrayOf(TopicProduceData))


@struct
class BatchIndexAndErrorMessage:
    """A record that caused its batch to be refused."""

    batch_index: int = wire(Int32)
    batch_index_error_message: str | None = wire(String, nullable="0+", default=None)


@struct
class LeaderIdAndEpoch:
    """The partition's current leader, sent with NOT_LEADER_OR_FOLLOWER."""

    leader_id: int = wire(Int32, default=-1)
    leader_epoch: int = wire(Int32, default=-1)


@struct
class PartitionProduceResponse:
    """The outcome for one partition."""

    index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    base_offset: int = wire(Int64)
    log_append_time_ms: int = wire(Int64, default=-1)  # -1 unless the topic uses LogAppendTime
    log_start_offset: int = wire(Int64, "5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = wire(
        ArrayOf(BatchIndexAndErrorMessage), "8+", default=[], ignorable=True
    )
    error_message: str | None = wire(String, "8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch | None = wire(LeaderIdAndEpoch, "10+", tag=0, default=None)


@struct
class TopicProduceResponse:
    """The outcomes for one topic."""

    name: str = wire(String, "0-12", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "13+", default=ZERO_UUID, ignorable=True)
    partition_responses: list[PartitionProduceResponse] = wire(ArrayOf(PartitionProduceResponse))


@struct
class NodeEndpoint:
    """The address of a broker named in `current_leader`."""

    node_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    rack: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.PRODUCE, versions="3-13", flexible="9+", hot=True)
class ProduceResponse:
    """The offset of each batch, or the reason why it was refused.

    Source: KIP-32 (v2 append time), KIP-112 (v5 log start), KIP-467 (v8 errors by record), KIP-951
    (v10 new leaders).
    """

    responses: list[TopicProduceResponse] = wire(ArrayOf(TopicProduceResponse))
    throttle_time_ms: int = wire(Int32, default=0)
    node_endpoints: list[NodeEndpoint] = wire(ArrayOf(NodeEndpoint), "10+", tag=0, default=[])
