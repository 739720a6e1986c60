"""OffsetDelete: v0.

Behaviour: deletes committed offsets of topics that the group does not subscribe to.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import PARKED, Call, Parked
from protocol.messages.offset_delete import OffsetDeleteRequest

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[OffsetDeleteRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.offset_delete(call.request, call.reply, call.received_ms)
    return PARKED
