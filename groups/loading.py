"""Loading a partition of __consumer_offsets: its records make the state of its groups."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from groups.classic_group import ClassicGroup
from groups.classic_rebalance import arm as arm_classic
from groups.classic_rebalance import prepare
from groups.consumer_group import ConsumerGroup
from groups.consumer_sessions import arm as arm_consumer
from groups.context import Context
from groups.effects import Stamp
from groups.offset_values import id_if_plain, unreadable
from groups.record_keys import (
    OffsetKey,
)
from groups.records import decode_record
from groups.topic_changes import follow_since_start, refresh
from groups.topic_deletion import drop_hidden, forget_set_aside, set_aside
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

logger = logging.getLogger("kawal.groups")

TOLD_MAX = 10
"""Records without a readable key that are named in the log; a client may have written a million."""


def replay_record(
    context: Context, partition: int, key: bytes | memoryview, value: bytes | memoryview | None
) -> None:
    """Apply one record of a partition that is being loaded; records that are not ours are skipped.

    Offsets are kept undecoded.  One that cannot be read is left out here, because each later use would fail;
    the group goes on with its other offsets. A group with anything else that cannot be read is not served.
    """
    try:
        record = decode_record(key, value)
    except ProtocolError as error:
        _leave_out(context, partition, bytes(key), error)
        return
    if record is None or not belongs(context, partition, record[0].group_id):
        return
    found, decoded = record
    if found.group_id in context.misread:
        context.misread.forget_key(found.group_id, key)
    if isinstance(found, OffsetKey):
        _replay_offset(context, partition, found, decoded)
    else:
        context.replay(found, decoded)
    context.replayed[found.group_id] = None


def _replay_offset(context: Context, partition: int, key: OffsetKey, value: bytes | None) -> None:
    if value is not None:
        topic = context.topics.by_name.get(key.topic)
        # What is usual is found out at once: a start looks at a million.
        if topic is None or id_if_plain(value) != topic.topic_id.bytes:
            if (why := unreadable(value)) is not None:
                _tell_unreadable(key, why)
                return
            if set_aside(context, partition, key, value):
                context.staged.supersede(key)
                return
    if context.offsets.aside.parts:
        context.offsets.supersede_aside(partition, key)
    context.put_offset(key, value)
    if context.staged:
        context.staged.supersede(key)


def _tell_unreadable(key: OffsetKey, why: str) -> None:
    logger.error(
        "an offset of group %.100r in %.100s-%d is left out: %s", key.group_id, key.topic, key.partition, why
    )


def belongs(context: Context, partition: int, group_id: str) -> bool:
    """Whether a stored record of the group belongs into this partition; one that does not is told.

    A client wrote it by hand.  The group is loaded from its own partition, and may be served already.
    """
    if context.partition(group_id) == partition:
        return True
    context.counts["left_out"] += 1
    if context.counts["left_out"] <= TOLD_MAX:
        logger.error(
            "a record of group %.100r is left out: it lies in partition %d of __consumer_offsets, not in %d",
            group_id,
            partition,
            context.partition(group_id),
        )
    return False


def _leave_out(context: Context, partition: int, key: bytes, error: ProtocolError) -> None:
    """Quarantine the group of a record that cannot be read; without a group the record is of no use."""
    try:
        record = decode_record(key, None)
    except ProtocolError:
        context.counts["left_out"] += 1
        if context.counts["left_out"] <= TOLD_MAX:
            logger.error("a record of __consumer_offsets is left out, as its key cannot be read: %s", error)
        return
    if record is not None and belongs(context, partition, group_id := record[0].group_id):
        context.misread.note(partition, group_id, key)
        context.replayed[group_id] = None
        context.quarantined[group_id] = f"a record of it cannot be read by this version: {error}"


def replay_staged(
    context: Context, partition: int, stamp: Stamp, key: bytes | memoryview, value: bytes | memoryview | None
) -> None:
    """Apply one stored record of a transaction; only offsets are written in transactions."""
    try:
        record = decode_record(key, value)
    except ProtocolError as error:
        _leave_out(context, partition, bytes(key), error)
        return
    if record is None or not isinstance(record[0], OffsetKey) or record[1] is None:
        return
    if belongs(context, partition, record[0].group_id) and unreadable(record[1]) is None:
        context.staged.stage(partition, stamp, record[0], record[1])


def finish_loading(context: Context, partitions: Collection[int]) -> list[str]:
    """Begin sessions and serve requests: all records of these partitions have been applied.

    Return the groups, of any type, that have records there.
    """
    context.loaded.update(partitions)
    replayed = [group_id for group_id in context.replayed if context.partition(group_id) in partitions]
    for group_id in replayed:
        del context.replayed[group_id]
    forget_set_aside(context, partitions)
    for group_id in replayed:
        if group_id in context.misread:
            logger.error("group %.100r is quarantined: %s", group_id, context.quarantined[group_id])
            continue
        context.quarantined.pop(group_id, None)
        group = context.groups.get(group_id)
        if group is None:
            continue
        try:
            _begin_serving(context, group)
        except Exception as error:
            # Another replay would end in the same way: this group is refused, the others are served.
            logger.exception("group %r is quarantined: what is stored of it cannot be used", group_id)
            context.quarantined[group_id] = f"{type(error).__name__}: {error}"
    return replayed


def _begin_serving(context: Context, group: ClassicGroup | ConsumerGroup) -> None:
    arm(context, group)
    if isinstance(group, ConsumerGroup):
        if group.metadata:
            refresh(context, group)
    elif len(group.members) > context.config.group_max_size:
        prepare(context, group)
    else:
        follow_since_start(context, group)


def arm(context: Context, group: ClassicGroup | ConsumerGroup) -> None:
    """Set the timers that the group lacks."""
    if isinstance(group, ConsumerGroup):
        arm_consumer(context, group)
    else:
        arm_classic(context, group)


def unload(context: Context, partitions: Collection[int]) -> None:
    """Forget the groups of these partitions; waiting clients are told to look for the coordinator."""
    context.loaded.difference_update(partitions)
    context.journal.abandon(partitions, ErrorCode.NOT_LEADER_OR_FOLLOWER, context.now_ms)
    waiting: list[Callable[[], None]] = []
    for group_id, group in list(context.groups.items()):
        if context.partition(group_id) in partitions:
            if isinstance(group, ClassicGroup):
                group.dissolve(ErrorCode.NOT_COORDINATOR, context.wall_ms)
            else:
                waiting.extend(group.assigning or ())
                group.assigning = None
            del context.groups[group_id]
            context.memory.forget(group_id)
    for group_id in context.offsets.groups():
        if context.partition(group_id) in partitions:
            context.offsets.drop(group_id)
    drop_hidden(context, partitions)
    for partition in partitions:
        context.staged.drop_partition(partition)
        context.misread.forget_partition(partition)
    for go_on in waiting:
        go_on()
