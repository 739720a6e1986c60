"""KawalConnections (30002): the connected clients and what they do; Kafka's APIs have no such list."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire


@message(api=ApiKey.KAWAL_CONNECTIONS, versions="0", flexible="0+")
class KawalConnectionsRequest:
    """A request for the connections with ids above `after`, in their order.

    Of several nodes, those of one after the other: the bits from 48 on say which.

    Source: Kawal's own.
    """

    after: int = wire(Int64, default=0)


@struct
class ConnectionInfo:
    """A client's connection; sizes in bytes."""

    connection_id: int = wire(Int64)
    address: str = wire(String)
    client_id: str | None = wire(String, nullable="0+")
    """The client.id of its last request; null before the first one, and if that had none."""
    software_name: str = wire(String)
    software_version: str = wire(String)
    """As the client has given them in ApiVersions v3 or later, else empty."""
    connected_ms: int = wire(Int64)
    """In ms since 1970."""
    idle_ms: int = wire(Int64)
    """The time since bytes were last received or sent."""
    requests: int = wire(Int64)
    received_bytes: int = wire(Int64)
    sent_bytes: int = wire(Int64)
    memory_bytes: int = wire(Int64)
    """The memory for its requests and for answers that it has not taken yet."""
    unanswered: int = wire(Int32)
    """The requests without an answer so far."""
    parked: int = wire(Int32)
    """Those among them that wait for data, for other members or for time to pass."""
    node_id: int = wire(Int32, tag=0, default=-1)
    """The node that it is connected to, of several; -1: there is one."""


@message(api=ApiKey.KAWAL_CONNECTIONS, versions="0", flexible="0+")
class KawalConnectionsResponse:
    """The connections; there are more unless `next_after` is -1.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    next_after: int = wire(Int64, default=-1)
    connections: list[ConnectionInfo] = wire(ArrayOf(ConnectionInfo))
    silent_nodes: list[int] = wire(ArrayOf(Int32), tag=0, default=[])
    """Nodes of the cluster that have not answered: what they know is missing."""
