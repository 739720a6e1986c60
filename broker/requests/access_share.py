"""Checks of requests about share groups; the topics of a share session are checked by the handlers.

Source: KIP-932; Kafka 4.3's KafkaApis, the methods of the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final
from uuid import UUID

from broker.requests.passage import (
    ITEMS_PER_STEP,
    MESSAGES,
    Checks,
    Passage,
    refused_of,
    refused_parts_of,
    split,
)
from broker.security.authorized_operations import Operation
from groups.share.describe import refused_group
from groups.share.sessions import is_member_id
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import alter_share_group_offsets as alter
from protocol.messages import delete_share_group_offsets as removal
from protocol.messages import describe_share_group_offsets as progress
from protocol.messages import kawal_queue_changes as changes
from protocol.messages import kawal_queues as queues
from protocol.wire import ZERO_UUID

DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
TOPIC_DENIED_TEXT: Final = MESSAGES[TOPIC_DENIED]

UNKNOWN: Final = -1


def _heartbeat(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if not rights.may_group(Operation.READ, request.group_id):
        return DENIED
    if not is_member_id(request.member_id):
        return None  # Kafka refuses that before it looks at topics, and the handler does.
    _, denied = yield from split(
        request.subscribed_topic_names or (),
        lambda name: rights.may_topic(Operation.DESCRIBE, name),
    )
    return TOPIC_DENIED if denied else None


def _describe(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    request.group_ids, denied = yield from split(
        request.group_ids, lambda group: rights.may_group(Operation.DESCRIBE, group)
    )
    refused = yield from refused_of(denied, lambda group: refused_group(group, DENIED, None))
    _lead(passage, "groups", refused)
    return None


def _exchange(passage: Passage) -> Checks:
    """Check the group of a fetch or of acknowledgements; the handler refuses a request without one."""
    yield from ()
    group_id = passage.request.group_id
    return None if group_id is None or passage.rights.may_group(Operation.READ, group_id) else DENIED


def _describe_offsets(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    request.groups, denied = yield from split(
        request.groups, lambda group: rights.may_group(Operation.DESCRIBE, group.group_id)
    )
    left_out: list[list[progress.DescribeShareGroupOffsetsResponseTopic]] = []
    for number, group in enumerate(request.groups, start=1):
        left_out.append((yield from _hidden_offsets(passage, group)))
        if not number % ITEMS_PER_STEP:
            yield
    refused = yield from refused_of(
        denied,
        lambda group: progress.DescribeShareGroupOffsetsResponseGroup(
            group_id=group.group_id, topics=[], error_code=DENIED
        ),
    )

    def join(response: progress.DescribeShareGroupOffsetsResponse) -> None:
        for group, topics in zip(response.groups, left_out, strict=True):
            if not group.error_code:
                group.topics += topics
        response.groups += refused

    if refused or any(left_out):
        passage.amend(join)
    return None


def _hidden_offsets(
    passage: Passage, group: progress.DescribeShareGroupOffsetsRequestGroup
) -> Generator[None, None, list[progress.DescribeShareGroupOffsetsResponseTopic]]:
    """Take the topics that may not be seen out of a group's, and return their answers."""
    if group.topics is None:
        return []
    group.topics, denied = yield from split(
        group.topics, lambda topic: passage.rights.may_topic(Operation.DESCRIBE, topic.topic_name)
    )
    return (
        yield from refused_parts_of(
            denied,
            lambda topic: topic.partitions,
            lambda index: progress.DescribeShareGroupOffsetsResponsePartition(
                partition_index=index,
                start_offset=UNKNOWN,
                leader_epoch=0,
                lag=UNKNOWN,
                error_code=TOPIC_DENIED,
                error_message=TOPIC_DENIED_TEXT,
            ),
            lambda topic, partitions: progress.DescribeShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name, topic_id=ZERO_UUID, partitions=partitions
            ),
        )
    )


def _alter_offsets(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if not rights.may_group(Operation.READ, request.group_id):
        return DENIED
    denied = yield from _unreadable(passage)
    refused = yield from refused_parts_of(
        denied,
        lambda topic: topic.partitions,
        lambda item: alter.AlterShareGroupOffsetsResponsePartition(
            partition_index=item.partition_index, error_code=TOPIC_DENIED, error_message=TOPIC_DENIED_TEXT
        ),
        lambda topic, partitions: alter.AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            topic_id=_id_shown(passage, topic.topic_name),
            partitions=partitions,
        ),
    )
    _lead(passage, "responses", refused)
    return None


def _id_shown(passage: Passage, name: str) -> UUID:
    """Return the id of a topic that may be described; of another it would tell that there is such a topic."""
    found = passage.catalogue.by_name.get(name)
    shown = found is not None and passage.rights.may_topic(Operation.DESCRIBE, name)
    return found.topic_id if found is not None and shown else ZERO_UUID


def _delete_offsets(passage: Passage) -> Checks:
    if not passage.rights.may_group(Operation.DELETE, passage.request.group_id):
        return DENIED
    denied = yield from _unreadable(passage)
    refused = yield from refused_of(
        denied,
        lambda topic: removal.DeleteShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            topic_id=ZERO_UUID,
            error_code=TOPIC_DENIED,
            error_message=TOPIC_DENIED_TEXT,
        ),
    )
    _lead(passage, "responses", refused)
    return None


def _queues(passage: Passage) -> Checks:
    """Check the groups that are named; of all groups, and of topics, the handler leaves some out."""
    request, rights = passage.request, passage.rights
    if request.group_ids is None:
        return None
    request.group_ids, denied = yield from split(
        request.group_ids, lambda group: rights.may_group(Operation.DESCRIBE, group)
    )
    refused = yield from refused_of(
        denied,
        lambda group: queues.QueueGroup(
            group_id=group, error_code=DENIED, counters=[], members=[], topics=[]
        ),
    )
    _lead(passage, "groups", refused)
    return None


def _change_queues(passage: Passage) -> Checks:
    """Check the group and the topics that are named; the handler checks all that the group has."""
    if not passage.rights.may_group(Operation.READ, passage.request.group_id):
        return DENIED
    if passage.request.topics is None:
        return None
    denied = yield from _unreadable(passage)
    refused = yield from refused_parts_of(
        denied,
        lambda topic: topic.partitions or [UNKNOWN],
        lambda index: changes.ChangedPartition(
            partition_index=index, error_code=TOPIC_DENIED, error_message=TOPIC_DENIED_TEXT
        ),
        lambda topic, partitions: changes.ChangedTopic(topic_name=topic.topic_name, partitions=partitions),
    )
    if refused:
        passage.amend(lambda response: response.topics.extend(refused))
    return None


def _unreadable(passage: Passage) -> Generator[None, None, list[Any]]:
    """Take the topics that may not be read out of the request, and return them."""
    passage.request.topics, denied = yield from split(
        passage.request.topics, lambda topic: passage.rights.may_topic(Operation.READ, topic.topic_name)
    )
    return denied


def _lead(passage: Passage, field: str, refused: list[Any]) -> None:
    """Have the errors of what was left out come before the handler's results, unless all is refused."""

    def join(response: Any) -> None:
        if not getattr(response, "error_code", ErrorCode.NONE):
            getattr(response, field)[:0] = refused

    if refused:
        passage.amend(join)


CHECKS: Final[dict[int, Callable[[Passage], Checks]]] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: _heartbeat,
    ApiKey.SHARE_GROUP_DESCRIBE: _describe,
    ApiKey.SHARE_FETCH: _exchange,
    ApiKey.SHARE_ACKNOWLEDGE: _exchange,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _describe_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _alter_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _delete_offsets,
    ApiKey.KAWAL_QUEUES: _queues,
    ApiKey.KAWAL_QUEUE_CHANGES: _change_queues,
}
"""The checks by API."""
