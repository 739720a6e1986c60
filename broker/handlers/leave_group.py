"""LeaveGroup: v0-5.

Behaviour: removes one member (v0-2) or several (v3+).
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v3 many members (KIP-345); v4 flexible; v5 reason (KIP-800).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.call import PARKED, Call, Parked
from protocol.messages.leave_group import LeaveGroupRequest

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[LeaveGroupRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.leave_group(call.request, client_of(call), call.reply, call.received_ms)
    return PARKED
