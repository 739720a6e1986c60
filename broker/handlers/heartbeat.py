"""Heartbeat: v0-4.

Behaviour: answers at once and keeps the member alive.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v3 static members; v4 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.call import Call
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[HeartbeatRequest]) -> HeartbeatResponse:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        return coordinator.heartbeat(call.request, client_of(call), call.received_ms)
