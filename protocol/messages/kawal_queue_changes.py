"""KawalQueueChanges (30006): records of a share group given back, or finished, by its operator."""

from __future__ import annotations

from enum import IntEnum

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, Int64, String, message, struct, wire


class QueueAction(IntEnum):
    """The outcome for the records."""

    RELEASE = 0
    """Those that members have are given back, as if the members had released them."""

    PURGE = 1
    """All that are there are finished, also those that members have."""


@struct
class QueueTopicItem:
    """A topic of the group, and some of its partitions; none: all."""

    topic_name: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.KAWAL_QUEUE_CHANGES, versions="0", flexible="0+")
class KawalQueueChangesRequest:
    """A change of records of a share group, in some topics, or (null) in all that it has.

    Source: Kawal's own.
    """

    group_id: str = wire(String)
    action: int = wire(Int8)
    member_id: str | None = wire(String, nullable="0+", default=None)
    """To release: only what this member has."""
    offset: int = wire(Int64, default=-1)
    """To release: only this record, of one partition."""
    topics: list[QueueTopicItem] | None = wire(ArrayOf(QueueTopicItem), nullable="0+", default=None)


@struct
class ChangedPartition:
    """The outcome in one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    records: int = wire(Int64, default=0)
    """The number of records given back, or finished."""


@struct
class ChangedTopic:
    """The outcome in one topic."""

    topic_name: str = wire(String)
    partitions: list[ChangedPartition] = wire(ArrayOf(ChangedPartition))


@message(api=ApiKey.KAWAL_QUEUE_CHANGES, versions="0", flexible="0+")
class KawalQueueChangesResponse:
    """The outcome by partition.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    topics: list[ChangedTopic] = wire(ArrayOf(ChangedTopic))
