"""ShareGroupDescribe: v1.

Behaviour: shows share groups with their members and what is assigned to them.
Differences from Apache Kafka: none.
Version notes: v1 the first stable one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from broker.security.authorized_operations import GROUP_OPERATIONS
from protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[ShareGroupDescribeRequest]) -> ShareGroupDescribeResponse:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        response = coordinator.share(call.received_ms).describe(call.request)
    if call.request.include_authorized_operations:
        for group in response.groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return response
