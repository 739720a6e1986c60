"""Heartbeat (12): stay a member of a group."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Int16, Int32, String, message, wire


@message(api=ApiKey.HEARTBEAT, versions="0-4", flexible="4+", hot=True)
class HeartbeatRequest:
    """A sign that the member is alive.

    Source: KIP-345 (v3 static members).
    """

    group_id: str = wire(String)
    generation_id: int = wire(Int32)
    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, "3+", nullable="3+", default=None)


@message(api=ApiKey.HEARTBEAT, versions="0-4", flexible="4+", hot=True)
class HeartbeatResponse:
    """Whether the membership is still valid.

    Source: KIP-124 (v1 throttle time).
    """

    throttle_time_ms: int = wire(Int32, "1+", default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
