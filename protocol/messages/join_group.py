"""JoinGroup (11): become a member of a group, or join again."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Bytes, Int16, Int32, String, message, struct, wire


@struct
class JoinGroupRequestProtocol:
    """A protocol that the member supports."""

    name: str = wire(String)
    metadata: bytes = wire(Bytes)


@message(api=ApiKey.JOIN_GROUP, versions="0-9", flexible="6+", hot=True)
class JoinGroupRequest:
    """A request to join, or rejoin, a group.

    Source: KIP-62 (v1 rebalance timeout), KIP-394 (v4 member id first), KIP-345 (v5 static members), KIP-559
    (v7), KIP-800 (v8 reason), KIP-814 (v9).
    """

    group_id: str = wire(String)
    session_timeout_ms: int = wire(Int32)
    rebalance_timeout_ms: int = wire(Int32, "1+", default=-1, ignorable=True)  # -1: use session_timeout_ms
    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, "5+", nullable="5+", default=None)
    protocol_type: str = wire(String)
    protocols: list[JoinGroupRequestProtocol] = wire(ArrayOf(JoinGroupRequestProtocol))
    reason: str | None = wire(String, "8+", nullable="8+", default=None, ignorable=True)


@struct
class JoinGroupResponseMember:
    """A member, as the leader needs it for the assignment."""

    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, "5+", nullable="5+", default=None, ignorable=True)
    metadata: bytes = wire(Bytes)


@message(api=ApiKey.JOIN_GROUP, versions="0-9", flexible="6+", hot=True)
class JoinGroupResponse:
    """The generation joined, and for the leader all members.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "2+", default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    generation_id: int = wire(Int32, default=-1)
    protocol_type: str | None = wire(String, "7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = wire(String, nullable="7+", default=None)
    leader: str = wire(String)
    # a static leader that rejoins must not assign again
    skip_assignment: bool = wire(Bool, "9+", default=False)
    member_id: str = wire(String)
    members: list[JoinGroupResponseMember] = wire(ArrayOf(JoinGroupResponseMember))
