"""OffsetFetch: read the progress of groups.

Only durable offsets are returned: no reader sees progress that a crash may undo. With `require_stable` the
answer waits for the commits that are on their way to the disk, and refuses partitions in which a transaction
has committed an offset that does not count yet.
Source: KIP-88, KIP-447, KIP-709, KIP-848; Kafka 4.3's OffsetMetadataManager.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable
from typing import Final, NamedTuple
from uuid import UUID

from groups.consumer_group import ConsumerGroup
from groups.context import Context
from groups.errors import GroupError, IllegalGeneration, StaleMemberEpoch, UnknownMember
from groups.offset_values import NO_LEADER_EPOCH, Committed, read_committed
from groups.record_keys import OffsetKey
from groups.repeats import Repeats
from groups.split_gates import begins_at
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from protocol.wire import ZERO_UUID

GROUPS_SINCE: Final = 8
TOPIC_IDS_SINCE: Final = 10
TOP_LEVEL_ERROR_SINCE: Final = 2
NO_OFFSET: Final = -1

OFFSET_BYTES: Final = 200
"""The memory of an offset's part of the answer."""

PARTITIONS_PER_STEP: Final = 50
"""The topics and partitions looked up between two steps: about 0.2 ms."""

GROUPS_AT_ONCE: Final = 200
"""More groups than that are taken to be in all partitions."""

GROUPS_PER_STEP: Final = 25
"""The groups looked up between two steps: about 0.3 ms."""

Steps = Generator[None, None, OffsetFetchResponse]
"""Steps that return the answer; a group may have offsets in very many partitions."""

Begin = Callable[[Steps], None]


class Wanted(NamedTuple):
    """The partitions of one topic; the name is None for an unknown id."""

    name: str | None
    topic_id: UUID
    partitions: Iterable[int]


def fetch_offsets(context: Context, request: OffsetFetchRequest, client: Client, begin: Begin) -> None:
    """Begin to answer with the offsets of all requested groups, when they may be read."""
    version = client.version
    if version >= GROUPS_SINCE:
        _when_stable(context, request, lambda: begin(_fetch_groups(context, request, version)))
    else:
        _when_stable(context, request, lambda: begin(_fetch_one(context, request, version)))


def _when_stable(context: Context, request: OffsetFetchRequest, answer: Callable[[], None]) -> None:
    """Answer at once, or when everything written to the partitions of these groups is durable or lost."""
    if not request.require_stable:
        answer()
        return
    waiting: Collection[int]
    if len(request.groups) > GROUPS_AT_ONCE:
        waiting = range(context.config.offsets_topic_num_partitions)
    else:
        group_ids = [group.group_id for group in request.groups] or [request.group_id]
        waiting = {context.partition(group_id) for group_id in group_ids}
    left = len(waiting)

    def done(_: ErrorCode | None, now_ms: int) -> None:
        nonlocal left
        context.now_ms = now_ms
        left -= 1
        if not left:
            answer()

    for partition in waiting:
        context.journal.after_writes(partition, done, context.now_ms)


def _fetch_groups(context: Context, request: OffsetFetchRequest, version: int) -> Steps:
    groups = []
    repeats = Repeats()
    for group in request.groups:
        steps = _fetch_group(context, group, repeats, version, stable=request.require_stable)
        groups.append((yield from steps))
        if not len(groups) % GROUPS_PER_STEP:
            yield
    return OffsetFetchResponse(groups=groups)


def _fetch_group(
    context: Context, asked: OffsetFetchRequestGroup, repeats: Repeats, version: int, *, stable: bool
) -> Generator[None, None, OffsetFetchResponseGroup]:
    answer = OffsetFetchResponseGroup(group_id=asked.group_id, topics=[])
    try:
        context.check_loaded(asked.group_id)
        if asked.topics is None:
            offset_count = sum(map(len, context.offsets.topics(asked.group_id).values()))
            repeats.check(asked.group_id, OFFSET_BYTES * offset_count)
        _check_member(context, asked)
    except GroupError as error:
        answer.error_code = error.code
        return answer
    done = 0
    for wanted in _wanted(context, asked, version):
        done += 1
        if not done % PARTITIONS_PER_STEP:
            yield
        topic = OffsetFetchResponseTopics(name=wanted.name or "", topic_id=wanted.topic_id, partitions=[])
        for index in wanted.partitions:
            committed, code = _progress(context, asked.group_id, wanted.name, index, stable=stable)
            topic.partitions.append(
                OffsetFetchResponsePartitions(
                    partition_index=index,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    metadata=committed.metadata,
                    error_code=ErrorCode.UNKNOWN_TOPIC_ID if wanted.name is None else code,
                )
            )
            done += 1
            if not done % PARTITIONS_PER_STEP:
                yield
        answer.topics.append(topic)
    return answer


def _check_member(context: Context, asked: OffsetFetchRequestGroup) -> None:
    """Check the member that asks, if the group is a consumer group: it must know its epoch.

    Raises: UnknownMember, StaleMemberEpoch, IllegalGeneration for classic members.
    """
    group = context.groups.get(asked.group_id)
    if not isinstance(group, ConsumerGroup):
        return
    if asked.member_id is None and asked.member_epoch < 0:
        return
    member = group.metadata.get(asked.member_id or "")
    if member is None:
        raise UnknownMember
    if group.assignment(asked.member_id or "").epoch != asked.member_epoch:
        raise StaleMemberEpoch if member.classic is None else IllegalGeneration


def _wanted(context: Context, asked: OffsetFetchRequestGroup, version: int) -> Iterable[Wanted]:
    by_id = version >= TOPIC_IDS_SINCE
    if asked.topics is None:
        known = context.topics.by_name
        # A copy: the group may commit between two steps.
        for name, partitions in tuple(context.offsets.topics(asked.group_id).items()):
            topic_id = known[name].topic_id if name in known else ZERO_UUID
            if not by_id or topic_id != ZERO_UUID:
                yield Wanted(name, topic_id, list(partitions))
        return
    for topic in asked.topics:
        if by_id:
            found = context.topics.by_id.get(topic.topic_id)
            yield Wanted(found.name if found else None, topic.topic_id, topic.partition_indexes)
        else:
            yield Wanted(topic.name, ZERO_UUID, topic.partition_indexes)


_NONE: Final = Committed(NO_OFFSET, NO_LEADER_EPOCH, "", 0, 0)


def _progress(
    context: Context, group_id: str, name: str | None, index: int, *, stable: bool
) -> tuple[Committed, ErrorCode]:
    """Return the progress in one partition; with `stable` none that a transaction may change (KIP-447)."""
    if name is None:
        return _NONE, ErrorCode.NONE
    if stable and context.staged.is_staged(OffsetKey(group_id, name, index)):
        return _NONE, ErrorCode.UNSTABLE_OFFSET_COMMIT
    value = context.offsets.topics(group_id).get(name, {}).get(index)
    if value is None:
        return begins_at(context, group_id, name, index) or _NONE, ErrorCode.NONE
    return read_committed(value), ErrorCode.NONE


def _fetch_one(context: Context, request: OffsetFetchRequest, version: int) -> Steps:
    """Answer in the layout of one group, which has no place for the group's error before v2."""
    try:
        context.check_loaded(request.group_id)
    except GroupError as error:
        return (yield from _refuse_one(request, error.code, version))
    names = request.topics
    wanted: Iterable[tuple[str, Iterable[int]]]
    if names is None:
        # A copy: the group may commit between two steps.
        wanted = tuple(context.offsets.topics(request.group_id).items())
    else:
        wanted = ((topic.name, topic.partition_indexes) for topic in names)
    answer = OffsetFetchResponse(topics=[])
    done = 0
    for name, partitions in wanted:
        topic = OffsetFetchResponseTopic(name=name, partitions=[])
        answer.topics.append(topic)
        done += 1
        if not done % PARTITIONS_PER_STEP:
            yield
        for index in tuple(partitions):
            topic.partitions.append(_partition(context, request, name, index))
            done += 1
            if not done % PARTITIONS_PER_STEP:
                yield
    return answer


def _partition(
    context: Context, request: OffsetFetchRequest, name: str, index: int
) -> OffsetFetchResponsePartition:
    stable = request.require_stable
    committed, code = _progress(context, request.group_id, name, index, stable=stable)
    return OffsetFetchResponsePartition(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=code,
    )


def _refuse_one(request: OffsetFetchRequest, code: ErrorCode, version: int) -> Steps:
    """Answer with the group's error, and with that of each partition that was asked for.

    Kafka says it once from v2 on. aiokafka (0.14) asks in v3 and looks at partitions only: it would take an
    answer without them for a group that has committed nothing, and begin anew.
    """
    topics = []
    done = 0
    for asked in request.topics or ():
        topic = OffsetFetchResponseTopic(name=asked.name, partitions=[])
        topics.append(topic)
        done += 1
        if not done % PARTITIONS_PER_STEP:
            yield
        for index in asked.partition_indexes:
            topic.partitions.append(
                OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=code
                )
            )
            done += 1
            if not done % PARTITIONS_PER_STEP:
                yield
    group_code = code if version >= TOP_LEVEL_ERROR_SINCE else ErrorCode.NONE
    return OffsetFetchResponse(topics=topics, error_code=group_code)
