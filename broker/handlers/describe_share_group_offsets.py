"""DescribeShareGroupOffsets: v0-1.

Behaviour: shows where share groups are in their partitions: the first record that is not finished, and (v1)
how many are not. -1 stands for a partition in which the group has no state, and for those of a topic that
does not exist; a group that does not exist has no partitions.
Differences from Apache Kafka: there a group has no start offset before its first fetch, topics are answered
in an order by chance, and a request about a partition that does not exist is never answered.
Version notes: v1 the lag (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from uuid import UUID

# Imported on the loop, the coordinators would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.shares import Shares as Shares
from broker.errors import RequestError
from broker.fetching.offsets_elsewhere import OffsetsElsewhere
from broker.fetching.share_places import find_partition, leader_elsewhere
from broker.loop.call import Call
from broker.loop.slices import Pace, WaitingSteps, begun
from broker.security.authorized_operations import Operation
from groups.errors import GroupError
from groups.share.service import ShareService as ShareService
from groups.share.state_records import ShareKey
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from broker.core import Broker
    from broker.security.rights import Rights

UNKNOWN: Final = -1

COST_PER_STEP: Final = 25
"""What is done between two looks at the time: the groups, topics and partitions."""

RANGES_PER_ITEM: Final = 200
"""The ranges of a group's state that are looked at in the time that a partition takes."""

Asked = tuple[str, UUID | None, list[int]]
"""A topic's name, its id if it exists, and partitions."""


def handle(
    broker: Broker, call: Call[DescribeShareGroupOffsetsRequest]
) -> DescribeShareGroupOffsetsResponse | WaitingSteps:
    """Answer each group on its own."""
    answer: DescribeShareGroupOffsetsResponse | WaitingSteps = begun(
        _answer(broker, call.request, call.rights, call.received_ms, from_peer=call.connection.from_peer)
    )
    return answer


def _answer(
    broker: Broker,
    request: DescribeShareGroupOffsetsRequest,
    rights: Rights | None,
    now_ms: int,
    *,
    from_peer: bool,
) -> WaitingSteps:
    response = DescribeShareGroupOffsetsResponse(groups=[])
    pace = Pace(COST_PER_STEP)
    away = OffsetsElsewhere(broker, broker)
    for group in request.groups:
        if pace.due():
            yield None
        found = DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, topics=[])
        response.groups.append(found)
        try:
            asked = _asked(broker, group, now_ms)
        except GroupError as error:
            found.error_code, found.error_message = error.code, error.message
            continue
        for name, topic_id, partitions in asked:
            if pace.due():
                yield None
            if group.topics is None and rights is not None and not rights.may_topic(Operation.DESCRIBE, name):
                continue
            topic = DescribeShareGroupOffsetsResponseTopic(
                topic_name=name, topic_id=topic_id or ZERO_UUID, partitions=[]
            )
            found.topics.append(topic)
            for index in partitions:
                leader = None if topic_id is None else leader_elsewhere(broker, (topic_id, index))
                if leader is not None and not from_peer:
                    answer, ranges = away.ask(leader, group.group_id, name, index), 0
                else:
                    answer, ranges = _partition(broker, group.group_id, topic_id, index, now_ms)
                topic.partitions.append(answer)
                if pace.due(1 + ranges // RANGES_PER_ITEM):
                    yield None
    yield from away.fill()
    return response


def _asked(broker: Broker, group: DescribeShareGroupOffsetsRequestGroup, now_ms: int) -> Iterable[Asked]:
    """Return what is asked of a group.  Raises: GroupError."""
    known = broker.catalogue.by_name
    if group.topics is not None:
        return (
            (
                topic.topic_name,
                known[topic.topic_name].topic_id if topic.topic_name in known else None,
                topic.partitions,
            )
            for topic in group.topics
        )
    with broker.groups.step(now_ms) as coordinator:
        share = coordinator.share(now_ms)
        share.check_loaded(group.group_id)
        found = share.groups.get(group.group_id)
        topics = {} if found is None else found.initialized
        return [(topic.name, topic_id, sorted(topic.partitions)) for topic_id, topic in topics.items()]


def _partition(
    broker: Broker, group_id: str, topic_id: UUID | None, index: int, now_ms: int
) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
    """Return the answer for a partition, and how many ranges were looked at for it."""
    ranges = 0
    answer = DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=UNKNOWN, leader_epoch=0, lag=UNKNOWN
    )
    if topic_id is None:
        return answer, ranges
    try:
        partition = find_partition(broker, (topic_id, index))
        with broker.coordinators.shares.step(now_ms) as machine:
            found = machine.find(ShareKey(group_id, topic_id, index))
    except RequestError as error:
        answer.error_code, answer.error_message = error.code, error.code.text
    except GroupError as error:
        answer.error_code, answer.error_message = error.code, error.message
    else:
        if found is not None:
            start = max(found.start, partition.log_start)
            answer.start_offset = start
            answer.lag = max(partition.high_watermark - start - found.finished_count(), 0)
            ranges = len(found.ranges)
    return answer, ranges
