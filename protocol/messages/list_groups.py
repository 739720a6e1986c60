"""ListGroups (16): the groups that a broker coordinates."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, message, struct, wire


@message(api=ApiKey.LIST_GROUPS, versions="0-5", flexible="3+")
class ListGroupsRequest:
    """A request for all groups, or for those in some states or of some types.

    Source: KIP-518 (v4 states), KIP-848 (v5 types).
    """

    states_filter: list[str] = wire(ArrayOf(String), "4+", default=[])
    types_filter: list[str] = wire(ArrayOf(String), "5+", default=[])


@struct
class ListedGroup:
    """A group."""

    group_id: str = wire(String)
    protocol_type: str = wire(String)
    group_state: str = wire(String, "4+", default="", ignorable=True)
    group_type: str = wire(String, "5+", default="", ignorable=True)


@message(api=ApiKey.LIST_GROUPS, versions="0-5", flexible="3+")
class ListGroupsResponse:
    """The groups.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "1+", default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    groups: list[ListedGroup] = wire(ArrayOf(ListedGroup))
