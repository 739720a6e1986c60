"""DeleteGroups: v0-2.

Behaviour: deletes empty groups and their offsets; answers when that is durable.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import PARKED, Call, Parked
from protocol.messages.delete_groups import DeleteGroupsRequest

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[DeleteGroupsRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.delete_groups(call.request, call.reply, call.received_ms)
    return PARKED
