"""KawalQueues (30005): share groups with the records that their members have; Kafka's APIs have less."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, Int64, String, Uuid, message, struct, wire


@struct
class QueuePlaces:
    """Partitions of a topic in which a share group has states."""

    group_id: str = wire(String)
    topic_id: UUID = wire(Uuid)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.KAWAL_QUEUES, versions="0", flexible="0+")
class KawalQueuesRequest:
    """A request for the state of share groups; null for all of them.

    Source: Kawal's own.
    """

    group_ids: list[str] | None = wire(ArrayOf(String), nullable="0+", default=None)
    ranges_max: int = wire(Int32, default=0)
    """The ranges of records that are not finished in the answer, for each partition, at most."""
    places: list[QueuePlaces] = wire(ArrayOf(QueuePlaces), tag=0, default=[])
    """The partitions, instead of groups, if another node of the cluster asks: it coordinates the groups."""


@struct
class CounterInfo:
    """A counter of a group since the server's start."""

    name: str = wire(String)
    value: int = wire(Int64)


@struct
class MemberInfo:
    """A member of a share group, or one that has left."""

    member_id: str = wire(String)
    status: str = wire(String)
    """Running, Leaving, Exit or Complete."""
    window: int = wire(Int32)
    pending: int = wire(Int64)
    slots: int = wire(Int64)
    idle_ms: int = wire(Int64)
    """The time since its last fetch or acknowledgement, or else heartbeat, or since it left; -1: unknown."""


@struct
class RangeInfo:
    """Records in a row that are not finished, and are alike."""

    first_offset: int = wire(Int64)
    last_offset: int = wire(Int64)
    state: int = wire(Int8)
    """0: available, 1: acquired."""
    delivery_count: int = wire(Int16)
    member_id: str = wire(String)
    lock_ms: int = wire(Int64)
    """The time for which its member may still keep it."""


@struct
class DeliveryInfo:
    """The number of records that were delivered so often and are not finished."""

    delivery_count: int = wire(Int16)
    records: int = wire(Int64)


@struct
class QueuePartition:
    """One partition of a share group."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    start_offset: int = wire(Int64, default=-1)
    """The first record that is not finished."""
    next_offset: int = wire(Int64, default=-1)
    """The first record that was never looked at."""
    end_offset: int = wire(Int64, default=-1)
    """The end up to which the group may read."""
    acquired: int = wire(Int64, default=0)
    available: int = wire(Int64, default=0)
    """With those from the next offset to the end."""
    released: int = wire(Int64, default=0)
    """Of those that are available: delivered before."""
    acknowledged: int = wire(Int64, default=0)
    archived: int = wire(Int64, default=0)
    archiving: int = wire(Int64, default=0)  # waiting for their dead letters
    oldest_ms: int = wire(Int64, default=-1)
    """The age of the first record that is not finished, 0 if there is none; -1: unknown."""
    deliveries: list[DeliveryInfo] = wire(ArrayOf(DeliveryInfo))
    ranges: list[RangeInfo] = wire(ArrayOf(RangeInfo))


@struct
class QueueTopic:
    """A topic of a share group."""

    topic_name: str = wire(String)
    topic_id: UUID = wire(Uuid)
    partitions: list[QueuePartition] = wire(ArrayOf(QueuePartition))


@struct
class QueueGroup:
    """A share group."""

    group_id: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    read_committed: bool = wire(Bool, default=False)
    counters: list[CounterInfo] = wire(ArrayOf(CounterInfo))
    members: list[MemberInfo] = wire(ArrayOf(MemberInfo))
    topics: list[QueueTopic] = wire(ArrayOf(QueueTopic))


@message(api=ApiKey.KAWAL_QUEUES, versions="0", flexible="0+")
class KawalQueuesResponse:
    """The groups.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    groups: list[QueueGroup] = wire(ArrayOf(QueueGroup))
