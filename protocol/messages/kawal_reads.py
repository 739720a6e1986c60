"""KawalReads (30017): the groups for which clients fetch, for the nodes that they fetch from."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, Int64, String, Uuid, message, struct, wire

NO_POSITION = -1
"""The progress of a group that has none in a partition."""


@struct
class AskedClient:
    """A client that fetches."""

    host: str = wire(String)
    """As Kafka shows it: `/127.0.0.1`."""
    client_id: str = wire(String)
    every: bool = wire(Bool, default=False)
    """Whether all its groups are wanted, although none that has settings for reading is coordinated there."""


@struct
class TopicPlaces:
    """Partitions of a topic that a client has."""

    topic_id: UUID = wire(Uuid)
    partitions: list[int] = wire(ArrayOf(Int32))
    positions: list[int] = wire(ArrayOf(Int64))
    """The group's progress in each, if the group begins with a snapshot; else none."""


@struct
class GroupPlaces:
    """A group of which the client is a member, with the partitions that it has for it, maybe none."""

    group_id: str = wire(String)
    topics: list[TopicPlaces] = wire(ArrayOf(TopicPlaces))


@struct
class ClientReads:
    """The groups of one client."""

    groups: list[GroupPlaces] = wire(ArrayOf(GroupPlaces))


@message(api=ApiKey.KAWAL_READS, versions="0", flexible="0+", hot=True)
class KawalReadsRequest:
    """A request for the groups of some clients, and whether groups have changed at all.

    Source: Kawal's own.
    """

    node_id: int = wire(Int32)
    """The node that asks: it is told of partitions that it leads."""
    catalogue_version: int = wire(Int64)
    """The version of the catalogue that the other node must know before it answers."""
    clients: list[AskedClient] = wire(ArrayOf(AskedClient))


@message(api=ApiKey.KAWAL_READS, versions="0", flexible="0+", hot=True)
class KawalReadsResponse:
    """The groups of each client, in their order.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    life: int = wire(Int32, default=-1)
    """The leader epoch of the node that answers: a node that has started since counts anew."""
    changes: int = wire(Int64, default=0)
    """A number that grows when groups with settings for reading have changed."""
    clients: list[ClientReads] = wire(ArrayOf(ClientReads))
