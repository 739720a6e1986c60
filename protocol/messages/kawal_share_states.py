"""KawalShareStates (30010): states of a share group, to be made, set or deleted by leaders of partitions."""

from __future__ import annotations

from enum import IntEnum
from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, Int64, String, Uuid, message, struct, wire


class StatesAction(IntEnum):
    """The change of the states."""

    MAKE = 0
    """Those that are missing begin where the group's settings say (share.auto.offset.reset)."""

    SET = 1
    """They begin anew at the given offsets."""

    DELETE = 2
    """Those in some topics, or all, are deleted."""


@struct
class PlaceItem:
    """A partition."""

    partition_index: int = wire(Int32)
    start_offset: int = wire(Int64, default=-1)
    """To set: where the group goes on."""


@struct
class PlacesOfTopic:
    """A topic, and some of its partitions; to delete: none, for all."""

    topic_id: UUID = wire(Uuid)
    partitions: list[PlaceItem] = wire(ArrayOf(PlaceItem))


@message(api=ApiKey.KAWAL_SHARE_STATES, versions="0", flexible="0+")
class KawalShareStatesRequest:
    """A change of states that the node leads which is asked; null as topics, to delete: all.

    Source: Kawal's own.
    """

    group_id: str = wire(String)
    action: int = wire(Int8)
    until_ms: int = wire(Int64)
    """The moment, of the clock that all processes of a machine have, from which on nothing is changed."""
    topics: list[PlacesOfTopic] | None = wire(ArrayOf(PlacesOfTopic), nullable="0+", default=None)


@struct
class PlaceOutcome:
    """The outcome in one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@struct
class OutcomesInTopic:
    """The outcome in one topic."""

    topic_id: UUID = wire(Uuid)
    partitions: list[PlaceOutcome] = wire(ArrayOf(PlaceOutcome))


@message(api=ApiKey.KAWAL_SHARE_STATES, versions="0", flexible="0+")
class KawalShareStatesResponse:
    """The outcome when all is durable: of the whole, and of partitions that were named.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    topics: list[OutcomesInTopic] = wire(ArrayOf(OutcomesInTopic))
