"""KawalMessages (30007): the ids of messages, and the places of ids; Kafka has no such thing."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, Int64, String, message, struct, wire


@struct
class MessageOffset:
    """A place, whose id is asked for."""

    partition: int = wire(Int32)
    offset: int = wire(Int64)


@struct
class MessageId:
    """An id, whose place is asked for."""

    ledger: int = wire(Int32)
    entry: int = wire(Int64)
    partition: int = wire(Int32)
    """-1 in a topic with kawal.nonpartitioned."""
    batch_index: int = wire(Int32)
    """-1 in an entry of one offset."""


@message(api=ApiKey.KAWAL_MESSAGES, versions="0", flexible="0+")
class KawalMessagesRequest:
    """A request for the ids of some offsets of a topic, and for the offsets of some ids.

    Source: Kawal's own.
    """

    topic: str = wire(String)
    offsets: list[MessageOffset] = wire(ArrayOf(MessageOffset))
    ids: list[MessageId] = wire(ArrayOf(MessageId))


@struct
class LocatedMessage:
    """One answer: an id and its place."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    ledger: int = wire(Int32, default=-1)
    entry: int = wire(Int64, default=-1)
    partition: int = wire(Int32, default=-1)
    """As in the id."""
    batch_index: int = wire(Int32, default=-1)
    partition_index: int = wire(Int32, default=-1)
    """Of Kafka's clients."""
    offset: int = wire(Int64, default=-1)
    first_offset: int = wire(Int64, default=-1)
    last_offset: int = wire(Int64, default=-1)
    """The offsets of the entry."""
    exact: bool = wire(Bool, default=True)
    """False if compaction has removed the entry: it was one of some that had the offsets told."""


@message(api=ApiKey.KAWAL_MESSAGES, versions="0", flexible="0+")
class KawalMessagesResponse:
    """The answers, those to offsets first, in the order of the request.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    messages: list[LocatedMessage] = wire(ArrayOf(LocatedMessage))
    silent_nodes: list[int] = wire(ArrayOf(Int32), tag=0, default=[])
    """Nodes of the cluster that have not answered: what they know is missing."""
