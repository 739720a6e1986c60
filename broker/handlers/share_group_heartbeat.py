"""ShareGroupHeartbeat: v1.

Behaviour: membership of a share group (KIP-932): join, keep alive, leave; answered when what it changes is
durable.  The first heartbeat that needs a partition is answered when the group has a state there, which
fixes where the group begins to read.
Differences from Apache Kafka: there the group begins to read in a partition with its first fetch, so that
with share.auto.offset.reset=latest records before that are not delivered.
Version notes: v1 the first stable one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker.coordinators.groups import client_of

# What the group coordinator needs for share groups: imported on the loop it would take 50 ms of a turn.
from broker.coordinators.share_states import ShareStates as ShareStates
from broker.coordinators.shares import Shares as Shares
from broker.loop.call import PARKED, Call, Parked
from groups.share.service import ShareService as ShareService
from groups.sorted_names import sorted_names
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

if TYPE_CHECKING:
    from broker.core import Broker


def prepare(request: ShareGroupHeartbeatRequest) -> None:
    """Sort the names of the topics, each once, and encode them for the member's record."""
    if request.subscribed_topic_names is not None:
        names: Any = sorted_names(request.subscribed_topic_names)
        request.subscribed_topic_names = names


def handle(broker: Broker, call: Call[ShareGroupHeartbeatRequest]) -> Parked:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.share(call.received_ms).heartbeat(call.request, client_of(call), call.reply)
    return PARKED
