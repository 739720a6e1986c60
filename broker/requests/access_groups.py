"""Checks of requests about groups that need more than one operation on one group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from broker.loop.slices import Pace, emptied
from broker.requests.access_offsets import group_error, topic_errors
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
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import consumer_group_describe as described
from protocol.messages import delete_groups as deletion
from protocol.messages import describe_groups as classic
from protocol.messages import find_coordinator as coordinators
from protocol.messages import offset_commit as commit
from protocol.messages import offset_delete as removal
from protocol.wire import ZERO_UUID

DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED

OF_GROUP, OF_TRANSACTION, OF_SHARE = 0, 1, 2
COORDINATOR_DENIED: Final = {
    OF_GROUP: DENIED,
    OF_TRANSACTION: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    OF_SHARE: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}
MANY_KEYS_VERSION: Final = 4
MANY_GROUPS_VERSION: Final = 8


def _name_of(passage: Passage, topic: Any) -> str | None:
    """Return the topic's name, if it is named or its id is known."""
    if topic.name or topic.topic_id == ZERO_UUID:
        return str(topic.name)
    found = passage.catalogue.find_id(topic.topic_id)
    return None if found is None else found.name


def _may_topic(passage: Passage, operation: Operation) -> Callable[[Any], bool]:
    """Return a function that tells whether this may be done; of an unknown id the handler will tell."""

    def may(topic: Any) -> bool:
        name = _name_of(passage, topic)
        return name is None or passage.rights.may_topic(operation, name)

    return may


def _offset_commit(passage: Passage) -> Checks:
    request = passage.request
    if not passage.rights.may_group(Operation.READ, request.group_id):
        return DENIED
    request.topics, denied = yield from split(request.topics, _may_topic(passage, Operation.READ))
    refused = yield from refused_parts_of(
        denied,
        lambda topic: topic.partitions,
        lambda item: commit.OffsetCommitResponsePartition(
            partition_index=item.partition_index, error_code=TOPIC_DENIED
        ),
        lambda topic, partitions: commit.OffsetCommitResponseTopic(
            name=topic.name, topic_id=topic.topic_id, partitions=partitions
        ),
    )
    if refused:
        passage.amend(lambda response: response.topics.extend(refused))
    return None


def _offset_delete(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if not rights.may_group(Operation.DELETE, request.group_id):
        return DENIED
    request.topics, denied = yield from split(
        request.topics, lambda topic: rights.may_topic(Operation.READ, topic.name)
    )
    refused = yield from refused_parts_of(
        denied,
        lambda topic: topic.partitions,
        lambda item: removal.OffsetDeleteResponsePartition(
            partition_index=item.partition_index, error_code=TOPIC_DENIED
        ),
        lambda topic, partitions: removal.OffsetDeleteResponseTopic(name=topic.name, partitions=partitions),
    )

    def join(response: removal.OffsetDeleteResponse) -> None:
        if not response.error_code:
            response.topics.extend(refused)

    if refused:
        passage.amend(join)
    return None


def _offset_fetch(passage: Passage) -> Checks:
    request, version = passage.request, passage.call.version
    if version < MANY_GROUPS_VERSION:
        return (yield from _offset_fetch_of_one(passage))
    request.groups, denied = yield from split(
        request.groups, lambda group: passage.rights.may_group(Operation.DESCRIBE, group.group_id)
    )
    refused = yield from refused_of(denied, lambda group: group_error(group, DENIED))
    left_out: dict[str, list[Any]] = {}
    pace = Pace(ITEMS_PER_STEP)
    for group in request.groups:
        if pace.due():
            yield
        if group.topics is not None:
            group.topics, hidden = yield from split(group.topics, _may_topic(passage, Operation.DESCRIBE))
            if hidden:
                left_out[group.group_id] = yield from topic_errors(hidden, TOPIC_DENIED)
                yield from emptied(hidden)

    def join(response: Any) -> None:
        for group in response.groups:
            if not group.error_code:
                group.topics.extend(left_out.get(group.group_id, ()))
        response.groups.extend(refused)

    if refused or left_out:
        passage.amend(join)
    return None


def _offset_fetch_of_one(passage: Passage) -> Checks:
    """Check a request for one group: its errors are those of partitions before v2, which had no others."""
    from protocol.messages.offset_fetch import OffsetFetchResponse

    request, rights, version = passage.request, passage.rights, passage.call.version
    if not rights.may_group(Operation.DESCRIBE, request.group_id):
        if version >= 2:
            return OffsetFetchResponse(topics=[], error_code=DENIED)
        refused = yield from topic_errors(request.topics or (), DENIED)
        return OffsetFetchResponse(topics=refused)
    if request.topics is None:
        return None
    request.topics, denied = yield from split(
        request.topics, lambda topic: rights.may_topic(Operation.DESCRIBE, topic.name)
    )
    refused = yield from topic_errors(denied, TOPIC_DENIED)

    def join(response: OffsetFetchResponse) -> None:
        if not response.error_code:
            response.topics.extend(refused)

    if refused:
        passage.amend(join)
    return None


def _describe_groups(passage: Passage) -> Checks:
    request = passage.request
    request.groups, denied = yield from split(
        request.groups, lambda group: passage.rights.may_group(Operation.DESCRIBE, group)
    )
    refused = yield from refused_of(
        denied,
        lambda group: classic.DescribedGroup(
            error_code=DENIED, group_id=group, group_state="", protocol_type="", protocol_data="", members=[]
        ),
    )
    if refused:
        passage.amend(lambda response: response.groups.extend(refused))
    return None


def _consumer_group_describe(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    request.group_ids, denied = yield from split(
        request.group_ids, lambda group: rights.may_group(Operation.DESCRIBE, group)
    )
    refused = yield from refused_of(denied, lambda group: _described_error(group, DENIED, None))

    def hide(response: described.ConsumerGroupDescribeResponse) -> None:
        response.groups[:] = [
            group
            if group.error_code or _shows_all(passage, group)
            else _described_error(
                group.group_id,
                TOPIC_DENIED,
                "The group has described topic(s) that the client is not authorized to describe.",
            )
            for group in response.groups
        ]
        response.groups.extend(refused)

    passage.amend(hide)
    return None


def _shows_all(passage: Passage, group: described.DescribedGroup) -> bool:
    names = {
        topic.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for topic in assignment.topic_partitions
    }
    return all(passage.rights.may_topic(Operation.DESCRIBE, name) for name in names)


def _described_error(group: str, code: ErrorCode, message: str | None) -> described.DescribedGroup:
    return described.DescribedGroup(
        error_code=code,
        error_message=message,
        group_id=group,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def _consumer_group_heartbeat(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if not rights.may_group(Operation.READ, request.group_id):
        return DENIED
    _, denied = yield from split(
        request.subscribed_topic_names or (),
        lambda name: rights.may_topic(Operation.DESCRIBE, name),
    )
    return TOPIC_DENIED if denied else None


def _delete_groups(passage: Passage) -> Checks:
    request = passage.request
    request.groups_names, denied = yield from split(
        request.groups_names, lambda group: passage.rights.may_group(Operation.DELETE, group)
    )
    refused = yield from refused_of(
        denied, lambda group: deletion.DeletableGroupResult(group_id=group, error_code=DENIED)
    )
    if refused:
        passage.amend(lambda response: response.results.extend(refused))
    return None


def _find_coordinator(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights

    def is_allowed(key: str) -> bool:
        if request.key_type == OF_GROUP:
            return rights.may_group(Operation.DESCRIBE, key)
        if request.key_type == OF_TRANSACTION:
            return rights.may_transactional_id(Operation.DESCRIBE, key)
        return request.key_type != OF_SHARE or rights.may_cluster(Operation.CLUSTER_ACTION)

    code = COORDINATOR_DENIED.get(request.key_type, DENIED)
    if passage.call.version < MANY_KEYS_VERSION:
        if is_allowed(request.key):
            return None
        return coordinators.FindCoordinatorResponse(
            error_code=code, error_message=MESSAGES[code], node_id=-1, host="", port=-1
        )
    request.coordinator_keys, denied = yield from split(request.coordinator_keys, is_allowed)
    refused = yield from refused_of(
        denied,
        lambda key: coordinators.Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=code, error_message=MESSAGES[code]
        ),
    )
    if refused:
        passage.amend(lambda response: response.coordinators.extend(refused))
    return None


CHECKS: Final[dict[int, Callable[[Passage], Checks]]] = {
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_DELETE: _offset_delete,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _consumer_group_describe,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _consumer_group_heartbeat,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
}
"""The checks by API."""
