"""ListGroups: v0-5.

Behaviour: lists groups, filtered by state and type if asked.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v4 states filter; v5 types filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[ListGroupsRequest]) -> ListGroupsResponse:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        return coordinator.list_groups(call.request, call.received_ms)
