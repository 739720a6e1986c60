"""ConsumerGroupDescribe: v0-1.

Behaviour: shows groups of the consumer protocol with current and target assignments.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v1 member types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.loop.call import Call
from broker.loop.slices import ITEMS_PER_STEP, Steps, begun
from broker.security.rights import group_operations
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[ConsumerGroupDescribeRequest]) -> ConsumerGroupDescribeResponse | Steps:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        steps = coordinator.consumer_group_describe(call.request, call.received_ms)
    answer: ConsumerGroupDescribeResponse | Steps = begun(_with_operations(call, steps))
    return answer


def _with_operations(call: Call[ConsumerGroupDescribeRequest], steps: Steps) -> Steps:
    response: ConsumerGroupDescribeResponse = yield from steps
    if call.request.include_authorized_operations:
        for number, group in enumerate(response.groups, start=1):
            if not group.error_code:
                group.authorized_operations = group_operations(call.rights, group.group_id)
            if not number % ITEMS_PER_STEP:
                yield
    return response
