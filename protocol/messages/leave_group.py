"""LeaveGroup (13): end memberships of a group."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, message, struct, wire


@struct
class MemberIdentity:
    """A member that leaves."""

    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, nullable="0+", default=None)
    reason: str | None = wire(String, "5+", nullable="5+", default=None, ignorable=True)


@message(api=ApiKey.LEAVE_GROUP, versions="0-5", flexible="4+", hot=True)
class LeaveGroupRequest:
    """A request to leave, or from v3 on to remove some members.

    Source: KIP-345 (v3 several members), KIP-800 (v5 reason).
    """

    group_id: str = wire(String)
    member_id: str = wire(String, "0-2", default="")
    members: list[MemberIdentity] = wire(ArrayOf(MemberIdentity), "3+", default=[])


@struct
class MemberResponse:
    """The outcome for one member."""

    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, nullable="0+", default=None)
    error_code: int = wire(Int16, default=0)


@message(api=ApiKey.LEAVE_GROUP, versions="0-5", flexible="4+", hot=True)
class LeaveGroupResponse:
    """The outcome; from v3 on, for each member.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "1+", default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    members: list[MemberResponse] = wire(ArrayOf(MemberResponse), "3+", default=[])
