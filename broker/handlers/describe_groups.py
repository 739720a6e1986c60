"""DescribeGroups: v0-6.

Behaviour: shows state, members and assignments.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v3 authorised operations; v4 static members; v5 flexible; v6 GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.call import Call
from broker.security.acls import ResourceType
from broker.security.authorized_operations import GROUP_OPERATIONS
from protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[DescribeGroupsRequest]) -> DescribeGroupsResponse:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        response = coordinator.describe_groups(call.request, client_of(call), call.received_ms)
    if call.request.include_authorized_operations:
        for group in response.groups:
            if not group.error_code:
                group.authorized_operations = (
                    GROUP_OPERATIONS
                    if call.rights is None
                    else call.rights.operations(ResourceType.GROUP, group.group_id)
                )
    return response
