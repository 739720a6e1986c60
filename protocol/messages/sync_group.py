"""SyncGroup (14): hand over, or wait for, the assignment of a generation."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bytes, Int16, Int32, String, message, struct, wire


@struct
class SyncGroupRequestAssignment:
    """The assignment of one member."""

    member_id: str = wire(String)
    assignment: bytes = wire(Bytes)


@message(api=ApiKey.SYNC_GROUP, versions="0-5", flexible="4+", hot=True)
class SyncGroupRequest:
    """A request for the member's assignment; the leader's carries those of all members.

    Source: KIP-345 (v3 static members), KIP-559 (v5 protocol type and name).
    """

    group_id: str = wire(String)
    generation_id: int = wire(Int32)
    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, "3+", nullable="3+", default=None)
    protocol_type: str | None = wire(String, "5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = wire(String, "5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = wire(ArrayOf(SyncGroupRequestAssignment))


@message(api=ApiKey.SYNC_GROUP, versions="0-5", flexible="4+", hot=True)
class SyncGroupResponse:
    """The assignment of this member.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "1+", default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    protocol_type: str | None = wire(String, "5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = wire(String, "5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = wire(Bytes)
