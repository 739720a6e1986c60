"""ConsumerGroupHeartbeat: v0-1.

Behaviour: the whole consumer protocol (KIP-848): join, keep alive, reconcile, leave.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v1 regular expressions resolved on the server, member ids made by clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.call import PARKED, Call, Parked
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[ConsumerGroupHeartbeatRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.consumer_group_heartbeat(call.request, client_of(call), call.reply, call.received_ms)
    return PARKED
