"""DescribeGroups: v0-6.

Behaviour: shows state, members and assignments.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v3 authorised operations; v4 static members; v5 flexible; v6 GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.call import Call
from broker.loop.slices import ITEMS_PER_STEP, Steps, begun
from broker.security.rights import group_operations
from protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[DescribeGroupsRequest]) -> DescribeGroupsResponse | Steps:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        steps = coordinator.describe_groups(call.request, client_of(call), call.received_ms)
    answer: DescribeGroupsResponse | Steps = begun(_with_operations(call, steps))
    return answer


def _with_operations(call: Call[DescribeGroupsRequest], steps: Steps) -> Steps:
    response: DescribeGroupsResponse = yield from steps
    if call.request.include_authorized_operations:
        for number, group in enumerate(response.groups, start=1):
            if not group.error_code:
                group.authorized_operations = group_operations(call.rights, group.group_id)
            if not number % ITEMS_PER_STEP:
                yield
    return response
