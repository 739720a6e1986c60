"""ListGroups: v0-5.

Behaviour: lists groups, filtered by state and type if asked.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v4 states filter; v5 types filter.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.loop.call import Call
from broker.loop.slices import Steps, begun, made_of
from broker.security.authorized_operations import Operation
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from broker.core import Broker
    from broker.security.rights import Rights


def handle(broker: Broker, call: Call[ListGroupsRequest]) -> ListGroupsResponse | Steps:
    """Pass the request to the group coordinator, and leave out what the client may not see."""
    with broker.groups.step(call.received_ms) as coordinator:
        steps = coordinator.list_groups(call.request, call.received_ms)
    rights = call.rights
    if rights is not None and not rights.may_cluster(Operation.DESCRIBE):
        steps = _visible(steps, rights)
    answer: ListGroupsResponse | Steps = begun(steps)
    return answer


def _visible(steps: Steps, rights: Rights) -> Steps:
    response: ListGroupsResponse = yield from steps
    shown = yield from made_of(
        response.groups, lambda group: rights.may_group(Operation.DESCRIBE, group.group_id)
    )
    response.groups = list(compress(response.groups, shown))
    return response
