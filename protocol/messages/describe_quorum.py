"""DescribeQuorum (55): the state of the metadata quorum."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ZERO_UUID, ArrayOf, Int16, Int32, Int64, String, UInt16, Uuid, message, struct, wire


@struct
class RequestPartitionData:
    """A partition."""

    partition_index: int = wire(Int32)


@struct
class RequestTopicData:
    """The partitions of one topic."""

    topic_name: str = wire(String)
    partitions: list[RequestPartitionData] = wire(ArrayOf(RequestPartitionData))


@message(api=ApiKey.DESCRIBE_QUORUM, versions="0-2", flexible="0+")
class DescribeQuorumRequest:
    """A request for the quorum; the only topic is __cluster_metadata.

    Source: KIP-595.
    """

    topics: list[RequestTopicData] = wire(ArrayOf(RequestTopicData))


@struct
class ReplicaState:
    """The progress of a voter or observer."""

    replica_id: int = wire(Int32)
    replica_directory_id: UUID = wire(Uuid, "2+", default=ZERO_UUID)
    log_end_offset: int = wire(Int64)
    last_fetch_timestamp: int = wire(Int64, "1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = wire(Int64, "1+", default=-1, ignorable=True)


@struct
class ResponsePartitionData:
    """The quorum of one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, "2+", nullable="2+", default=None, ignorable=True)
    leader_id: int = wire(Int32)
    leader_epoch: int = wire(Int32)
    high_watermark: int = wire(Int64)
    current_voters: list[ReplicaState] = wire(ArrayOf(ReplicaState))
    observers: list[ReplicaState] = wire(ArrayOf(ReplicaState))


@struct
class ResponseTopicData:
    """The quorums of one topic."""

    topic_name: str = wire(String)
    partitions: list[ResponsePartitionData] = wire(ArrayOf(ResponsePartitionData))


@struct
class Listener:
    """An address of a controller."""

    name: str = wire(String)
    host: str = wire(String)
    port: int = wire(UInt16)


@struct
class Node:
    """A controller."""

    node_id: int = wire(Int32)
    listeners: list[Listener] = wire(ArrayOf(Listener))


@message(api=ApiKey.DESCRIBE_QUORUM, versions="0-2", flexible="0+")
class DescribeQuorumResponse:
    """The leader, voters and observers.

    Source: KIP-595, KIP-836 (v1 times), KIP-853 (v2 directory ids and nodes).
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, "2+", nullable="2+", default=None, ignorable=True)
    topics: list[ResponseTopicData] = wire(ArrayOf(ResponseTopicData))
    nodes: list[Node] = wire(ArrayOf(Node), "2+", default=[])
