"""DescribeGroups (15): the state and members of classic groups."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Bytes, Int16, Int32, String, message, struct, wire

NOT_REQUESTED = -(2**31)
"""The bits of `…_authorized_operations` when they were not asked for."""


@message(api=ApiKey.DESCRIBE_GROUPS, versions="0-6", flexible="5+", hot=True, elements_max=50_000)
class DescribeGroupsRequest:
    """A request for some groups.

    Source: KIP-430 (v3 authorised operations), KIP-345 (v4 static members), KIP-1043 (v6 GROUP_ID_NOT_FOUND).
    """

    groups: list[str] = wire(ArrayOf(String))
    include_authorized_operations: bool = wire(Bool, "3+", default=False)


@struct
class DescribedGroupMember:
    """A member and its assignment."""

    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, "4+", nullable="4+", default=None, ignorable=True)
    client_id: str = wire(String)
    client_host: str = wire(String)
    member_metadata: bytes = wire(Bytes)
    member_assignment: bytes = wire(Bytes)


@struct
class DescribedGroup:
    """A group."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, "6+", nullable="6+", default=None)
    group_id: str = wire(String)
    group_state: str = wire(String)
    protocol_type: str = wire(String)
    protocol_data: str = wire(String)  # the name of the chosen protocol
    members: list[DescribedGroupMember] = wire(ArrayOf(DescribedGroupMember))
    authorized_operations: int = wire(Int32, "3+", default=NOT_REQUESTED)


@message(api=ApiKey.DESCRIBE_GROUPS, versions="0-6", flexible="5+", hot=True)
class DescribeGroupsResponse:
    """The groups as they are now.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "1+", default=0, ignorable=True)
    groups: list[DescribedGroup] = wire(ArrayOf(DescribedGroup))
