"""ConsumerGroupDescribe: v0-1.

Behaviour: shows groups of the consumer protocol with current and target assignments.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v1 member types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from broker.security.acls import ResourceType
from broker.security.authorized_operations import GROUP_OPERATIONS
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[ConsumerGroupDescribeRequest]) -> ConsumerGroupDescribeResponse:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        response = coordinator.consumer_group_describe(call.request, call.received_ms)
    if call.request.include_authorized_operations:
        for group in response.groups:
            if not group.error_code:
                group.authorized_operations = (
                    GROUP_OPERATIONS
                    if call.rights is None
                    else call.rights.operations(ResourceType.GROUP, group.group_id)
                )
    return response
