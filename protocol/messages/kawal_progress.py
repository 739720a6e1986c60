"""KawalProgress (30016): how far groups have read, for nodes that keep records for them."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, Int64, String, message, struct, wire

NO_OFFSET = -1
"""The offset of a partition in which the group has none any more."""


@struct
class HoldingGroup:
    """A group that holds records, and all topics that it reads."""

    group_id: str = wire(String)
    topics: list[str] = wire(ArrayOf(String))


@struct
class TopicProgress:
    """Offsets of a group in some partitions of a topic; both lists are of one length."""

    group_id: str = wire(String)
    topic: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))
    offsets: list[int] = wire(ArrayOf(Int64))


@message(api=ApiKey.KAWAL_PROGRESS, versions="0", flexible="0+", hot=True)
class KawalProgressRequest:
    """A request for what has changed of groups that hold records, after a number that the node gave.

    Source: Kawal's own.
    """

    node_id: int = wire(Int32)
    """The node that asks: it is told of partitions that it leads."""
    catalogue_version: int = wire(Int64)
    """The version of the catalogue that the other node must know before it answers."""
    life: int = wire(Int64, default=-1)
    """The life that came with the number; in another one, all is told again."""
    after: int = wire(Int64, default=0)


@message(api=ApiKey.KAWAL_PROGRESS, versions="0", flexible="0+", hot=True)
class KawalProgressResponse:
    """The first changes, oldest first, and the number from which to go on.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    has_more: bool = wire(Bool, default=False)
    life: int = wire(Int64, default=-1)
    next_after: int = wire(Int64, default=0)
    groups: list[HoldingGroup] = wire(ArrayOf(HoldingGroup))
    progress: list[TopicProgress] = wire(ArrayOf(TopicProgress))
