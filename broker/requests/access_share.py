"""Checks of requests of share groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from broker.requests.passage import MESSAGES, Checks, Passage, errors_of, split
from broker.security.authorized_operations import Operation
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import alter_share_group_offsets as altered
from protocol.messages import delete_share_group_offsets as deleted
from protocol.messages import describe_share_group_offsets as shown
from protocol.messages import share_acknowledge as acknowledge
from protocol.messages import share_fetch as fetch
from protocol.messages import share_group_describe as described
from protocol.wire import ZERO_UUID

DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
TOPIC_TEXT: Final = MESSAGES[TOPIC_DENIED]


def _heartbeat(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if not rights.may_group(Operation.READ, request.group_id):
        return DENIED
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

    def shows_all(group: described.DescribedGroup) -> bool:
        topics = [topic for member in group.members for topic in member.assignment.topic_partitions]
        return all(rights.may_topic(Operation.DESCRIBE, topic.topic_name) for topic in topics)

    def hide(response: described.ShareGroupDescribeResponse) -> None:
        response.groups[:] = [
            group if group.error_code or shows_all(group) else _described_error(group.group_id, TOPIC_DENIED)
            for group in response.groups
        ]
        response.groups.extend(_described_error(group, DENIED) for group in denied)

    passage.amend(hide)
    return None


def _described_error(group: str, code: ErrorCode) -> described.DescribedGroup:
    return described.DescribedGroup(
        error_code=code,
        error_message=MESSAGES[code],
        group_id=group,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def _may_read(passage: Passage, topic: Any) -> bool:
    """Whether records of a topic may be read; of an id that is unknown the handler will tell."""
    found = passage.catalogue.find_id(topic.topic_id)
    return found is None or passage.rights.may_topic(Operation.READ, found.name)


def _fetch(passage: Passage) -> Checks:
    """Leave out topics that may not be read, and what the session has of them since they might."""
    request = passage.request
    if not passage.rights.may_group(Operation.READ, request.group_id or ""):
        return DENIED
    request.topics, denied = yield from split(request.topics, lambda topic: _may_read(passage, topic))
    errors = yield from errors_of(
        denied, lambda topic: topic.partitions, lambda item: _fetch_error(item.partition_index)
    )
    refused = [fetch.ShareFetchableTopicResponse(topic_id=t.topic_id, partitions=e) for t, e in errors]

    def join(response: fetch.ShareFetchResponse) -> None:
        if response.error_code:
            return
        for topic in response.responses:
            if not _may_read(passage, topic):
                topic.partitions = [_fetch_error(part.partition_index) for part in topic.partitions]
        response.responses.extend(refused)

    passage.amend(join)
    return None


def _fetch_error(index: int) -> fetch.PartitionData:
    return fetch.PartitionData(
        partition_index=index,
        error_code=TOPIC_DENIED,
        error_message=TOPIC_TEXT,
        current_leader=fetch.LeaderIdAndEpoch(leader_id=0, leader_epoch=0),
        acquired_records=[],
    )


def _acknowledge(passage: Passage) -> Checks:
    request = passage.request
    if not passage.rights.may_group(Operation.READ, request.group_id or ""):
        return DENIED
    request.topics, denied = yield from split(request.topics, lambda topic: _may_read(passage, topic))
    errors = yield from errors_of(
        denied,
        lambda topic: topic.partitions,
        lambda item: acknowledge.PartitionData(
            partition_index=item.partition_index,
            error_code=TOPIC_DENIED,
            error_message=TOPIC_TEXT,
            current_leader=acknowledge.LeaderIdAndEpoch(leader_id=0, leader_epoch=0),
        ),
    )
    refused = [
        acknowledge.ShareAcknowledgeTopicResponse(topic_id=topic.topic_id, partitions=partitions)
        for topic, partitions in errors
    ]
    _join(passage, refused)
    return None


def _show_offsets(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    request.groups, denied = yield from split(
        request.groups, lambda group: rights.may_group(Operation.DESCRIBE, group.group_id)
    )
    left_out: dict[str, list[Any]] = {}
    for group in request.groups:
        if group.topics is not None:
            group.topics, hidden = yield from split(
                group.topics, lambda topic: rights.may_topic(Operation.DESCRIBE, topic.topic_name)
            )
            left_out[group.group_id] = [_offsets_error(topic) for topic in hidden]

    def join(response: shown.DescribeShareGroupOffsetsResponse) -> None:
        for group in response.groups:
            if not group.error_code:
                group.topics = [
                    topic for topic in group.topics if rights.may_topic(Operation.DESCRIBE, topic.topic_name)
                ]
                group.topics.extend(left_out.get(group.group_id, ()))
        response.groups.extend(
            shown.DescribeShareGroupOffsetsResponseGroup(
                group_id=group.group_id, topics=[], error_code=DENIED, error_message=MESSAGES[DENIED]
            )
            for group in denied
        )

    passage.amend(join)
    return None


def _offsets_error(topic: Any) -> shown.DescribeShareGroupOffsetsResponseTopic:
    return shown.DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic.topic_name,
        topic_id=ZERO_UUID,
        partitions=[
            shown.DescribeShareGroupOffsetsResponsePartition(
                partition_index=index,
                start_offset=-1,
                leader_epoch=0,
                error_code=TOPIC_DENIED,
                error_message=TOPIC_TEXT,
            )
            for index in topic.partitions
        ],
    )


def _alter_offsets(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if not rights.may_group(Operation.READ, request.group_id):
        return DENIED
    request.topics, denied = yield from split(
        request.topics, lambda topic: rights.may_topic(Operation.READ, topic.topic_name)
    )
    errors = yield from errors_of(
        denied,
        lambda topic: topic.partitions,
        lambda item: altered.AlterShareGroupOffsetsResponsePartition(
            partition_index=item.partition_index, error_code=TOPIC_DENIED, error_message=TOPIC_TEXT
        ),
    )
    refused = [
        altered.AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name, topic_id=ZERO_UUID, partitions=partitions
        )
        for topic, partitions in errors
    ]
    _join(passage, refused)
    return None


def _delete_offsets(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if not rights.may_group(Operation.DELETE, request.group_id):
        return DENIED
    request.topics, denied = yield from split(
        request.topics, lambda topic: rights.may_topic(Operation.READ, topic.topic_name)
    )
    refused = [
        deleted.DeleteShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            topic_id=ZERO_UUID,
            error_code=TOPIC_DENIED,
            error_message=TOPIC_TEXT,
        )
        for topic in denied
    ]
    _join(passage, refused)
    return None


def _join(passage: Passage, refused: list[Any]) -> None:
    def join(response: Any) -> None:
        if not response.error_code:
            response.responses.extend(refused)

    if refused:
        passage.amend(join)


CHECKS: Final[dict[int, Callable[[Passage], Checks]]] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: _heartbeat,
    ApiKey.SHARE_GROUP_DESCRIBE: _describe,
    ApiKey.SHARE_FETCH: _fetch,
    ApiKey.SHARE_ACKNOWLEDGE: _acknowledge,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _show_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _alter_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _delete_offsets,
}
"""The checks by API."""
