"""Metadata (3): the brokers, topics and partition leaders of a cluster."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ZERO_UUID, ArrayOf, Bool, Int16, Int32, String, Uuid, message, struct, wire

NOT_REQUESTED = -(2**31)
"""The bits of `…_authorized_operations` when they were not asked for."""


@struct
class MetadataRequestTopic:
    """A topic asked for by name, or from v12 on by id with a null name (v10 and v11 carry unused ids)."""

    topic_id: UUID = wire(Uuid, "10+", default=ZERO_UUID, ignorable=True)
    name: str | None = wire(String, nullable="10+")


@message(api=ApiKey.METADATA, versions="0-13", flexible="9+", hot=True, elements_max=200_000)
class MetadataRequest:
    """A request for brokers and topics; None means all topics, and so does [] in v0.

    Source: KIP-4, KIP-165 (v4 auto creation), KIP-430 (v8 authorised operations), KIP-516 (v10 topic ids).
    """

    topics: list[MetadataRequestTopic] | None = wire(ArrayOf(MetadataRequestTopic), nullable="1+")
    allow_auto_topic_creation: bool = wire(Bool, "4+", default=True)
    # moved to DescribeCluster (KIP-700)
    include_cluster_authorized_operations: bool = wire(Bool, "8-10", default=False)
    include_topic_authorized_operations: bool = wire(Bool, "8+", default=False)


@struct
class MetadataResponseBroker:
    """A broker and its address for clients."""

    node_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    rack: str | None = wire(String, "1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition:
    """A partition, its leader and its replicas."""

    error_code: int = wire(Int16, default=0)
    partition_index: int = wire(Int32)
    leader_id: int = wire(Int32)
    leader_epoch: int = wire(Int32, "7+", default=-1, ignorable=True)
    replica_nodes: list[int] = wire(ArrayOf(Int32))
    isr_nodes: list[int] = wire(ArrayOf(Int32))
    offline_replicas: list[int] = wire(ArrayOf(Int32), "5+", default=[], ignorable=True)


@struct
class MetadataResponseTopic:
    """A topic, or why it cannot be shown."""

    error_code: int = wire(Int16, default=0)
    name: str | None = wire(String, nullable="12+", default=None)
    topic_id: UUID = wire(Uuid, "10+", default=ZERO_UUID, ignorable=True)
    is_internal: bool = wire(Bool, "1+", default=False, ignorable=True)
    partitions: list[MetadataResponsePartition] = wire(ArrayOf(MetadataResponsePartition))
    topic_authorized_operations: int = wire(Int32, "8+", default=NOT_REQUESTED)


@message(api=ApiKey.METADATA, versions="0-13", flexible="9+", hot=True)
class MetadataResponse:
    """Brokers, topics and their partitions.

    Source: KIP-36 (v1 racks), KIP-78 (v2 cluster id), KIP-112 (v5 offline replicas), KIP-320 (v7 leader
    epochs), KIP-430, KIP-516, KIP-1102 (v13 top-level error).
    """

    throttle_time_ms: int = wire(Int32, "3+", default=0, ignorable=True)
    brokers: list[MetadataResponseBroker] = wire(ArrayOf(MetadataResponseBroker))
    cluster_id: str | None = wire(String, "2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = wire(Int32, "1+", default=-1, ignorable=True)  # -1: unknown
    topics: list[MetadataResponseTopic] = wire(ArrayOf(MetadataResponseTopic))
    cluster_authorized_operations: int = wire(Int32, "8-10", default=NOT_REQUESTED)
    error_code: int = wire(Int16, "13+", default=0, ignorable=True)
