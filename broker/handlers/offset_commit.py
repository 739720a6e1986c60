"""OffsetCommit: v2-10.

Behaviour: answers when the offsets are durable.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v6 leader epochs; v7 static members; v8 flexible; v9 member epochs (KIP-848); v10 topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.call import PARKED, Call, Parked
from protocol.messages.offset_commit import OffsetCommitRequest

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[OffsetCommitRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.offset_commit(call.request, client_of(call), call.reply, call.received_ms)
    return PARKED
