"""SyncGroup: v0-5.

Behaviour: hands each member its part of the leader's assignment, once that is durable.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v3 static members; v4 flexible; v5 protocol type and name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.answers import reply_in_turn
from broker.loop.call import PARKED, Call, Parked
from protocol.messages.sync_group import SyncGroupRequest

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[SyncGroupRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        reply = reply_in_turn(broker, call)
        coordinator.sync_group(call.request, client_of(call), reply, call.received_ms)
    return PARKED
