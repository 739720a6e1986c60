"""JoinGroup: v0-9.

Behaviour: parks until all members have joined, at most for the longest rebalance timeout among them.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v1 rebalance timeout; v4 MEMBER_ID_REQUIRED (KIP-394); v5 static members (KIP-345); v7 protocol
type; v8 reason; v9 skip assignment (KIP-814).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.answers import reply_in_turn
from broker.loop.call import PARKED, Call, Parked
from groups.classic_group import CONSUMER_PROTOCOL
from groups.read_subscription import read_apart
from protocol.messages.join_group import JoinGroupRequest

if TYPE_CHECKING:
    from broker.core import Broker


def prepare(request: JoinGroupRequest) -> None:
    """Read a long subscription."""
    if request.protocol_type == CONSUMER_PROTOCOL:
        read_apart(request.protocols)


def handle(broker: Broker, call: Call[JoinGroupRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        reply = reply_in_turn(broker, call)
        coordinator.join_group(call.request, client_of(call), reply, call.received_ms)
    return PARKED
