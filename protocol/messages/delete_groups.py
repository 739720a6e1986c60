"""DeleteGroups (42): delete groups that have no members."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, message, struct, wire


@message(api=ApiKey.DELETE_GROUPS, versions="0-2", flexible="2+", hot=True, elements_max=50_000)
class DeleteGroupsRequest:
    """A request to delete groups and their offsets.

    Source: KIP-229.
    """

    groups_names: list[str] = wire(ArrayOf(String))


@struct
class DeletableGroupResult:
    """The outcome for one group."""

    group_id: str = wire(String)
    error_code: int = wire(Int16, default=0)


@message(api=ApiKey.DELETE_GROUPS, versions="0-2", flexible="2+", hot=True)
class DeleteGroupsResponse:
    """The outcome for each group.

    Source: KIP-229.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    results: list[DeletableGroupResult] = wire(ArrayOf(DeletableGroupResult))
