"""KawalPolls (30015): when members last fetched from a node, for the node that coordinates their groups."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire

NEVER = -1
"""The age of a fetch that there was not."""


@struct
class OwnedPartitions:
    """Partitions of a topic that a member has."""

    topic: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@struct
class AskedMember:
    """A member, by the client that fetches for it."""

    host: str = wire(String)
    client_id: str = wire(String)
    topics: list[OwnedPartitions] = wire(ArrayOf(OwnedPartitions))


@message(api=ApiKey.KAWAL_POLLS, versions="0", flexible="0+", elements_max=200_000)
class KawalPollsRequest:
    """A request for the last fetches of members from their partitions on this node.

    Source: Kawal's own.
    """

    members: list[AskedMember] = wire(ArrayOf(AskedMember))


@message(api=ApiKey.KAWAL_POLLS, versions="0", flexible="0+")
class KawalPollsResponse:
    """The time since the last fetch of each member, in their order.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    known_for_ms: int = wire(Int64, default=0)
    """The time for which this node has known of fetches: since its start."""
    ages_ms: list[int] = wire(ArrayOf(Int64))
    """NEVER for a member of which no fetch is known."""
