"""DescribeTopicPartitions: v0.

Behaviour: lists topics by name, from the cursor on, up to the number of partitions that the client or
`max.request.partition.size.limit` allows; `next_cursor` is the place where the next request continues.  No
topics means all of them.  A partition of a node that is away has no leader, as in Metadata.
Differences from Apache Kafka: the empty topic name answers INVALID_TOPIC_EXCEPTION (Kafka: -1).
Version notes: none.  Source: KIP-966.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Generator
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from broker.catalogue.topic_admin import check_name
from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Steps, begun, in_order, made_of
from broker.security.acls import ResourceType
from broker.security.authorized_operations import TOPIC_OPERATIONS, Operation
from protocol.error_codes import ErrorCode
from protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.core import Broker

NO_LEADER: Final = -1

TOPICS_PER_STEP: Final = 50
"""The topics that are answered between two looks at the time: about 0.3 ms."""


def handle(
    broker: Broker, call: Call[DescribeTopicPartitionsRequest]
) -> DescribeTopicPartitionsResponse | Steps:
    """Describe one page of topics."""
    answer: DescribeTopicPartitionsResponse | Steps = begun(_describe(broker, call))
    return answer


def _describe(broker: Broker, call: Call[DescribeTopicPartitionsRequest]) -> Steps:
    request, rights = call.request, call.rights
    try:
        names = yield from _names(broker, call)
    except RequestError as error:
        return (yield from _refused(request, error))
    first_index = 0 if request.cursor is None else request.cursor.partition_index
    limit = broker.config.max_request_partition_size_limit
    room = max(1, min(request.response_partition_limit, limit))
    response = DescribeTopicPartitionsResponse(topics=[])
    away = broker.nodes.away_from(call.connection)
    for number, name in enumerate(names, start=1):
        if not number % TOPICS_PER_STEP:
            yield
        if not room:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        start = first_index if request.cursor is not None and name == request.cursor.topic_name else 0
        if rights is not None and not rights.may_topic(Operation.DESCRIBE, name):
            response.topics.append(_denied(name))
            continue
        operations = TOPIC_OPERATIONS if rights is None else rights.operations(ResourceType.TOPIC, name)
        topic = broker.catalogue.find(name)
        if topic is None:
            response.topics.append(_unknown(name, operations))
            continue
        answer = _answer(
            broker,
            topic,
            range(start, min(topic.partition_count, start + room)),
            away,
        )
        answer.topic_authorized_operations = operations
        response.topics.append(answer)
        room -= len(answer.partitions)
        if start + len(answer.partitions) < topic.partition_count:
            index = start + len(answer.partitions)
            response.next_cursor = Cursor(topic_name=name, partition_index=index)
            break
    return response


def _names(broker: Broker, call: Call[DescribeTopicPartitionsRequest]) -> Generator[None, None, list[str]]:
    """Return the topics from the cursor on, in order; of all topics those that the client may see."""
    request, rights = call.request, call.rights
    asked = yield from in_order(map(attrgetter("name"), request.topics))
    cursor = request.cursor
    if cursor is not None:
        if asked and not _is_in(asked, cursor.topic_name):
            raise RequestError(ErrorCode.INVALID_REQUEST)
        if cursor.partition_index < 0:
            raise RequestError(ErrorCode.INVALID_REQUEST)
    if not asked:
        every = yield from made_of(
            tuple(broker.catalogue.by_name.values()),
            lambda topic: topic.name if topic.recorded else None,
            per_step=PLAIN_ITEMS_PER_STEP,
        )
        existing = [name for name in every if name is not None]
        if rights is not None:
            seen = yield from made_of(existing, lambda name: rights.may_topic(Operation.DESCRIBE, name))
            existing = list(compress(existing, seen))
        asked = yield from in_order(existing)
    first = "" if cursor is None else cursor.topic_name
    return asked[bisect_left(asked, first) :]


def _is_in(names: list[str], name: str) -> bool:
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name


def _refused(request: DescribeTopicPartitionsRequest, error: RequestError) -> Steps:
    topics = yield from made_of(
        request.topics,
        lambda topic: DescribeTopicPartitionsResponseTopic(
            error_code=error.code, name=topic.name, topic_id=ZERO_UUID, partitions=[]
        ),
        per_step=TOPICS_PER_STEP,
    )
    return DescribeTopicPartitionsResponse(topics=topics)


def _unknown(name: str, operations: int) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_name(name)
    except RequestError as error:
        code = error.code
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        topic_id=ZERO_UUID,
        partitions=[],
        topic_authorized_operations=operations,
    )


def _denied(name: str) -> DescribeTopicPartitionsResponseTopic:
    """Return the answer for a topic that the client may not see, whether it exists or not."""
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name, topic_id=ZERO_UUID, partitions=[]
    )


def _answer(
    broker: Broker, topic: Topic, indexes: range, away: Collection[int]
) -> DescribeTopicPartitionsResponseTopic:
    leaders = [broker.topics.leader(topic, index) for index in indexes]
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader in away else ErrorCode.NONE,
                partition_index=index,
                leader_id=NO_LEADER if leader in away else leader,
                leader_epoch=epoch,
                replica_nodes=[leader],
                isr_nodes=[leader],
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=[leader] if leader in away else [],
            )
            for index, (leader, epoch) in zip(indexes, leaders, strict=True)
        ],
    )
