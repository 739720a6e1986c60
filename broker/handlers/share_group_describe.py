"""ShareGroupDescribe: v1.

Behaviour: shows share groups with their members and what is assigned to them.  A group with a topic that the
client may not see is refused.
Differences from Apache Kafka: none.
Version notes: v1 the first stable one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from broker.loop.call import Call
from broker.loop.slices import WaitingSteps, in_slices
from broker.security.acls import ResourceType
from broker.security.authorized_operations import GROUP_OPERATIONS, Operation
from groups.share.describe import refused_group
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker
    from broker.security.rights import Rights

TOPICS_PER_STEP: Final = 100
"""The topics of members looked at between two looks at the time."""

HIDDEN_TOPIC: Final = "The group has described topic(s) that the client is not authorized to describe."
"""Kafka's sentence."""


def handle(
    broker: Broker, call: Call[ShareGroupDescribeRequest]
) -> ShareGroupDescribeResponse | WaitingSteps:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        response = coordinator.share(call.received_ms).describe(call.request)
    rights = call.rights
    if call.request.include_authorized_operations:
        for group in response.groups:
            if not group.error_code:
                group.authorized_operations = (
                    GROUP_OPERATIONS
                    if rights is None
                    else rights.operations(ResourceType.GROUP, group.group_id)
                )
    if rights is None:
        return response
    count = sum(
        1 + len(member.assignment.topic_partitions) for group in response.groups for member in group.members
    )
    answer: ShareGroupDescribeResponse | WaitingSteps = in_slices(
        _visible(response, rights), count, per_slice=TOPICS_PER_STEP
    )
    return answer


def _visible(response: ShareGroupDescribeResponse, rights: Rights) -> WaitingSteps:
    """Refuse the groups with a topic that may not be seen."""
    seen: dict[str, bool] = {}
    looked_at = 0
    for number, group in enumerate(response.groups):
        for name in _topics(group):
            if name not in seen:
                seen[name] = rights.may_topic(Operation.DESCRIBE, name)
            if not seen[name]:
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                response.groups[number] = refused_group(group.group_id, code, HIDDEN_TOPIC)
                break
            looked_at += 1
            if not looked_at % TOPICS_PER_STEP:
                yield None
    return response


def _topics(group: DescribedGroup) -> Iterator[str]:
    return (topic.topic_name for member in group.members for topic in member.assignment.topic_partitions)
