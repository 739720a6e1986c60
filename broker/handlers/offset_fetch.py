"""OffsetFetch: v1-10.

Behaviour: answers with the durable offsets.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v2 all topics; v6 flexible; v7 require stable; v8 many groups; v9 member epochs; v10 topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.call import PARKED, Call, Parked
from protocol.messages.offset_fetch import OffsetFetchRequest

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[OffsetFetchRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.offset_fetch(call.request, client_of(call), call.reply, call.received_ms)
    return PARKED
