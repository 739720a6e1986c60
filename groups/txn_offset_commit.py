"""TxnOffsetCommit: store the progress of a group as part of a transaction, and its end.

The offsets count when the transaction's marker is durable in the group's partition of __consumer_offsets; the
transaction coordinator sees to it that every transaction has one. A producer may name the group's member for
which it commits; then that must belong to the present generation, so that a member that has been replaced
cannot commit what its successor reads again.
Source: KIP-98, KIP-447; Kafka 4.3's OffsetMetadataManager.commitTransactionalOffset.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Final

from groups.classic_group import ClassicGroup
from groups.classic_join import known_member
from groups.consumer_group import ConsumerGroup
from groups.context import Context
from groups.effects import EncodedRecord, EndMarker, Stamp, Undo
from groups.errors import GroupError, IllegalGeneration, UnknownMember, append_error
from groups.offset_commit import java_length
from groups.offset_values import NO_EXPIRY, Committed, committed_bytes, offset_of
from groups.record_keys import OffsetKey
from groups.records import encode_record
from groups.staged_transaction import Closed
from groups.states import GroupState
from groups.topic_deletion import forget_if_former, set_aside
from groups.topic_room import has_room
from protocol.error_codes import ErrorCode
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

NO_GENERATION: Final = -1

OFFSETS_PER_STEP: Final = 100
"""The offsets of a large transaction that come to count between two looks at the time: about 1 ms."""

Reply = Callable[[TxnOffsetCommitResponse], None]
Done = Callable[[ErrorCode | None, int], None]
_Item = tuple[OffsetKey, bytes, TxnOffsetCommitResponsePartition]


def refused(context: Context, request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
    """Return the answer to a request whose offsets may not be committed; wrong ones have their own code."""
    response, items = _open(context, request)
    _fail(items, code)
    return response


def commit_in_transaction(context: Context, request: TxnOffsetCommitRequest, reply: Reply) -> None:
    """Stage the offsets of a request, whose transaction has the group's partition already."""
    response, items = _open(context, request)
    try:
        context.check_loaded(request.group_id)
        _check(context, request)
    except GroupError as error:
        _fail(items, error.code)
        reply(response)
        return
    if not items:
        reply(response)
        return
    stamp = Stamp(request.producer_id, request.producer_epoch)
    partition = context.partition(request.group_id)
    records: list[EncodedRecord] = []
    undo: list[Undo] = []
    for key, value, _ in items:
        context.offsets.hide_before(key)
        records.append(encode_record(key, value))
        undo.append(context.staged.stage(partition, stamp, key, value))

    def done(error: ErrorCode | None, now_ms: int) -> None:
        context.now_ms = now_ms
        if error is not None:
            _fail(items, append_error(error))
        reply(response)

    context.journal.write(partition, records, undo, done, stamp)


def _open(context: Context, request: TxnOffsetCommitRequest) -> tuple[TxnOffsetCommitResponse, list[_Item]]:
    """Return the answer, and the offsets that can be stored; the others are refused in the answer."""
    stamp = Stamp(request.producer_id, request.producer_epoch)
    topics: dict[str, list[TxnOffsetCommitResponsePartition]] = {}
    items: list[_Item] = []
    for topic in request.topics:
        known = context.topics.by_name.get(topic.name)
        if known is not None and not known.recorded:
            known = None
        if known is not None and not topic.partitions:
            continue
        answers = topics.setdefault(topic.name, [])
        for asked in topic.partitions:
            answer = TxnOffsetCommitResponsePartition(partition_index=asked.partition_index)
            answers.append(answer)
            metadata = asked.committed_metadata or ""
            if known is None or not 0 <= asked.partition_index < known.partition_count:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif not has_room(context, request.group_id, topic.name):
                answer.error_code = ErrorCode.POLICY_VIOLATION
            elif java_length(metadata) > context.config.offset_metadata_max_bytes:
                answer.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                key = OffsetKey(request.group_id, topic.name, asked.partition_index)
                committed = Committed(
                    asked.committed_offset,
                    asked.committed_leader_epoch,
                    metadata,
                    context.wall_ms,
                    NO_EXPIRY,
                )
                value = committed_bytes(committed, known.topic_id)
                if context.may_stage(stamp, key, value):
                    items.append((key, value, answer))
                else:
                    answer.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    answered = [
        TxnOffsetCommitResponseTopic(name=name, partitions=answers) for name, answers in topics.items()
    ]
    return TxnOffsetCommitResponse(topics=answered), items


def _fail(items: list[_Item], code: ErrorCode) -> None:
    for _, _, answer in items:
        answer.error_code = code


def _check(context: Context, request: TxnOffsetCommitRequest) -> None:
    context.check_no_share(request.group_id, "consumer")
    group = context.groups.get(request.group_id)
    names_member = (
        request.generation_id != NO_GENERATION
        or bool(request.member_id)
        or request.group_instance_id is not None
    )
    if group is None:
        if request.generation_id >= 0:
            raise UnknownMember if context.exists(request.group_id) else IllegalGeneration
    elif isinstance(group, ConsumerGroup):
        _check_consumer(group, request, names_member=names_member)
    else:
        _check_classic(group, request, names_member=names_member)


def _check_classic(group: ClassicGroup, request: TxnOffsetCommitRequest, *, names_member: bool) -> None:
    if request.generation_id < 0 and group.state == GroupState.EMPTY:
        return
    if names_member:
        known_member(group, request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise IllegalGeneration


def _check_consumer(group: ConsumerGroup, request: TxnOffsetCommitRequest, *, names_member: bool) -> None:
    if not names_member or (request.generation_id < 0 and not group.metadata):
        return
    if request.member_id not in group.metadata:
        raise UnknownMember
    if request.generation_id != group.assignment(request.member_id).epoch:
        raise IllegalGeneration


# --- the end of the transaction -----------------------------------------------------------------------------


def end_in_partition(context: Context, partition: int, marker: EndMarker, done: Done) -> None:
    """Write a transaction's end into a partition; its offsets count once that is durable."""
    if partition not in context.loaded:
        _end_while_loading(context, partition, marker, done)
        return
    closed = context.staged.close(partition, marker.producer_id, commit=marker.commit)
    for key, value in closed.counting:
        context.offsets.announce(key, value)

    def durable(error: ErrorCode | None, now_ms: int) -> None:
        context.now_ms = now_ms
        context.staged.ended(closed)
        for key, value in closed.counting:
            context.offsets.settle(key)
            if error is None:
                _count_with_rows(context, key, value)
        if error is None and closed.large is not None:
            context.background(_then_done(_large_end(context, closed, _count_with_rows), context, done))
        else:
            done(error, now_ms)

    context.journal.write(partition, [], [closed.undo], durable, marker)


def _large_end(
    context: Context, closed: Closed, count: Callable[[Context, OffsetKey, bytes], None]
) -> Iterator[None]:
    """Make the offsets of a large transaction count, or none, in slices."""
    while not context.staged.count_some(closed, OFFSETS_PER_STEP, partial(count, context)):
        yield


def _then_done(steps: Iterator[None], context: Context, done: Done) -> Generator[None, None, None]:
    yield from steps
    done(None, context.now_ms)


def _end_while_loading(context: Context, partition: int, marker: EndMarker, done: Done) -> None:
    """Write the end into a partition that is being replayed, and learns of it in its turn."""

    def durable(error: ErrorCode | None, now_ms: int) -> None:
        context.now_ms = now_ms
        if error is None and partition in context.loaded:
            steps = replay_end(context, partition, marker.producer_id, commit=marker.commit)
            context.background(_then_done(steps, context, done))
        else:
            done(error, now_ms)

    context.journal.write(partition, [], [], durable, marker)


def replay_end(context: Context, partition: int, producer_id: int, *, commit: bool) -> Iterator[None]:
    """Apply the durable end of a transaction: its offsets become the progress of their groups, or nothing.

    A large one takes several steps.
    """
    closed = context.staged.close(partition, producer_id, commit=commit)
    context.staged.ended(closed)
    for key, value in closed.counting:
        _count_replayed(context, key, value)
    yield from _large_end(context, closed, _count_replayed)


def _count_replayed(context: Context, key: OffsetKey, value: bytes) -> None:
    home = context.loading(key.group_id)
    if home is None:
        if not forget_if_former(context, key, value):
            _count(context, key, value)
        return
    if not set_aside(context, home, key, value):
        context.offsets.supersede_aside(home, key)
        _count(context, key, value)
    context.replayed[key.group_id] = None


def _count_with_rows(context: Context, key: OffsetKey, value: bytes) -> None:
    if not forget_if_former(context, key, value):
        context.count_rows(key, context.offsets.position(key), offset_of(value))
        _count(context, key, value)


def _count(context: Context, key: OffsetKey, value: bytes) -> None:
    context.offsets.replay(key, value)
    context.committed_in(key)
