"""KawalGroups (30001): consumers and subscriptions as TDengine shows them; Kafka's APIs have less."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire


@struct
class PlaceReached:
    """A partition, and the next record that a group reads there; -1: nothing was committed."""

    topic: str = wire(String)
    partition: int = wire(Int32)
    offset: int = wire(Int64)


@message(api=ApiKey.KAWAL_GROUPS, versions="0", flexible="0+")
class KawalGroupsRequest:
    """A request for the consumers and the progress of groups; null for all of them.

    Source: Kawal's own; the columns are those of TDengine's ins_consumers and ins_subscriptions.
    """

    group_ids: list[str] | None = wire(ArrayOf(String), nullable="0+", default=None)
    places: list[PlaceReached] = wire(ArrayOf(PlaceReached), tag=0, default=[])
    """From nodes alone: places of which the node that coordinates the groups does not lead the partition."""


@struct
class ConsumerInfo:
    """A member of a group. Times are in ms since 1970, 0 where unknown."""

    group_id: str = wire(String)
    consumer_id: str = wire(String)
    client_id: str = wire(String)
    host: str = wire(String)
    user: str = wire(String)
    status: str = wire(String)
    """The state: rebalancing, ready or lost."""
    topics: list[str] = wire(ArrayOf(String))
    up_ms: int = wire(Int64)
    subscribe_ms: int = wire(Int64)
    rebalance_ms: int = wire(Int64)
    poll_ms: int = wire(Int64)
    idle_ms: int = wire(Int64)
    """How long it has done nothing that only a polling client does; heartbeats do not count."""
    parameters: str = wire(String)


@struct
class SubscriptionInfo:
    """One partition of a topic for one group; -1 where there is no offset."""

    group_id: str = wire(String)
    topic: str = wire(String)
    partition: int = wire(Int32)
    vnode: str = wire(String)
    consumer_id: str | None = wire(String, nullable="0+")
    client_id: str | None = wire(String, nullable="0+")
    host: str | None = wire(String, nullable="0+")
    offset: int = wire(Int64)
    """The next record to read; -1: nothing committed."""
    log_start: int = wire(Int64)
    end_offset: int = wire(Int64)
    lag: int = wire(Int64)
    """The number of records between the offset, or the log start without one, and the end."""
    lag_ms: int = wire(Int64)
    """The age of the first unread record; -1: unknown."""
    rows: int = wire(Int64)
    """The number of records that commits have passed, without those that a view leaves out."""
    rows_since_ms: int = wire(Int64, tag=0, default=0)
    """The time since which they are counted, in ms since 1970: the first commit since the server's start."""


@struct
class PlaceLag:
    """The lag at a place, as in SubscriptionInfo; an empty `vnode`: this node does not lead the partition."""

    vnode: str = wire(String, default="")
    log_start: int = wire(Int64, default=-1)
    end_offset: int = wire(Int64, default=-1)
    lag: int = wire(Int64, default=-1)
    lag_ms: int = wire(Int64, default=-1)


@message(api=ApiKey.KAWAL_GROUPS, versions="0", flexible="0+")
class KawalGroupsResponse:
    """The rows, by group.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    consumers: list[ConsumerInfo] = wire(ArrayOf(ConsumerInfo))
    subscriptions: list[SubscriptionInfo] = wire(ArrayOf(SubscriptionInfo))
    silent_nodes: list[int] = wire(ArrayOf(Int32), tag=0, default=[])
    """Nodes of the cluster that have not answered: what they know is missing."""
    lags: list[PlaceLag] = wire(ArrayOf(PlaceLag), tag=1, default=[])
    """To nodes alone: of each place of the request."""
