"""ShareGroupDescribe: v1.

Behaviour: shows share groups with their members and what is assigned to them.  A group with a topic that the
client may not see is refused.
Differences from Apache Kafka: none.
Version notes: v1 the first stable one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

# Imported on the loop, the coordinators would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.shares import Shares as Shares
from broker.loop.call import Call
from broker.loop.slices import ITEMS_PER_STEP, Steps, begun
from broker.security.authorized_operations import Operation
from broker.security.rights import Rights, group_operations
from groups.share.describe import refused_group
from groups.share.service import ShareService as ShareService
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

TOPICS_PER_STEP: Final = 100
"""The topics of members looked at between two looks at the time."""

HIDDEN_TOPIC: Final = "The group has described topic(s) that the client is not authorized to describe."
"""Kafka's sentence."""


def handle(broker: Broker, call: Call[ShareGroupDescribeRequest]) -> ShareGroupDescribeResponse | Steps:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        steps = coordinator.share(call.received_ms).describe(call.request)
    answer: ShareGroupDescribeResponse | Steps = begun(_answer(call, steps))
    return answer


def _answer(call: Call[ShareGroupDescribeRequest], steps: Steps) -> Steps:
    response: ShareGroupDescribeResponse = yield from steps
    if call.request.include_authorized_operations:
        for number, group in enumerate(response.groups, start=1):
            if not group.error_code:
                group.authorized_operations = group_operations(call.rights, group.group_id)
            if not number % ITEMS_PER_STEP:
                yield
    return response if call.rights is None else (yield from _visible(response, call.rights))


def _visible(response: ShareGroupDescribeResponse, rights: Rights) -> Steps:
    """Refuse the groups with a topic that may not be seen."""
    seen: dict[str, bool] = {}
    looked_at = 0
    for number, group in enumerate(response.groups):
        looked_at += 1
        for name in _topics(group):
            if name not in seen:
                seen[name] = rights.may_topic(Operation.DESCRIBE, name)
            if not seen[name]:
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                response.groups[number] = refused_group(group.group_id, code, HIDDEN_TOPIC)
                break
            looked_at += 1
            if looked_at >= TOPICS_PER_STEP:
                looked_at = 0
                yield
        if looked_at >= TOPICS_PER_STEP:
            looked_at = 0
            yield
    return response


def _topics(group: DescribedGroup) -> Iterator[str]:
    return (topic.topic_name for member in group.members for topic in member.assignment.topic_partitions)
