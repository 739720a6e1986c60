"""DescribeCluster (60): the brokers of a cluster."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, String, message, struct, wire

NOT_REQUESTED = -(2**31)
"""The bits of `…_authorized_operations` when they were not asked for."""


@message(api=ApiKey.DESCRIBE_CLUSTER, versions="0-2", flexible="0+", hot=True)
class DescribeClusterRequest:
    """A request for the brokers, or from v1 on for the controllers.

    Source: KIP-700, KIP-919 (v1 endpoint type), KIP-1073 (v2 fenced brokers).
    """

    include_cluster_authorized_operations: bool = wire(Bool)
    endpoint_type: int = wire(Int8, "1+", default=1)  # 1: brokers, 2: controllers
    include_fenced_brokers: bool = wire(Bool, "2+", default=False)


@struct
class DescribeClusterBroker:
    """A broker and its address for clients."""

    broker_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    rack: str | None = wire(String, nullable="0+", default=None)
    is_fenced: bool = wire(Bool, "2+", default=False)


@message(api=ApiKey.DESCRIBE_CLUSTER, versions="0-2", flexible="0+", hot=True)
class DescribeClusterResponse:
    """The brokers and the controller.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    endpoint_type: int = wire(Int8, "1+", default=1)
    cluster_id: str = wire(String)
    controller_id: int = wire(Int32, default=-1)
    brokers: list[DescribeClusterBroker] = wire(ArrayOf(DescribeClusterBroker))
    cluster_authorized_operations: int = wire(Int32, default=NOT_REQUESTED)
