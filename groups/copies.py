"""Copies of the groups in a partition of __consumer_offsets: their state as records, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from groups.apart import WIDE_TOPICS, encoded_apart
from groups.classic_group import ClassicGroup
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import MemberAssignment, MemberMetadata
from groups.context import Context
from groups.effects import EncodedRecord, StagedRecords
from groups.offsets import OffsetTable
from groups.record_keys import (
    ClassicGroupKey,
    CurrentKey,
    GroupEpoch,
    GroupEpochKey,
    Key,
    MemberKey,
    OffsetKey,
    RegexKey,
    TargetEpoch,
    TargetEpochKey,
    TargetKey,
)
from groups.records import encode_record

GROUPS_LOOKED_AT: Final = 1_000
"""The groups that a snapshot checks at a time, in some 5 ms, for those of its partition."""

GROUP_RECORDS_AT_ONCE: Final = 100
"""The records of a group that are copied without a pause, in 2 ms: it may have 10,000 members."""

TOPICS_PER_RECORD: Final = 20
"""The topics in a record that take as long as another record."""


def snapshot(context: Context, partition: int, records_max: int) -> Iterator[list[EncodedRecord]]:
    """Yield lists of records that together make up the present state of a partition.

    Each list must be appended before anything else is done. Between two lists the caller may do as it likes:
    each shows the state at its own time, and later changes are appended after it anyway. Values on their way
    to the disk are included as last written. A list holds `records_max` offsets at most, or some metadata of
    one group; it may be empty, so that the search for groups does not take long at a time, either.
    """
    for stamp, staged in context.staged.of_partition(partition, records_max):
        yield StagedRecords(stamp, [encode_record(key, value) for key, value in staged])
    group_ids = dict.fromkeys([*context.groups, *context.offsets.newest_groups()])
    for number, group_id in enumerate(group_ids):
        if number % GROUPS_LOOKED_AT == GROUPS_LOOKED_AT - 1:
            yield []
        if context.partition(group_id) != partition:
            continue
        group = context.groups.get(group_id)
        if group is not None:
            yield from _group_slices(context, group)
        yield from _offset_slices(context, group_id, records_max)


def _offset_slices(context: Context, group_id: str, records_max: int) -> Iterator[list[EncodedRecord]]:
    offsets = context.offsets
    keys: list[OffsetKey] = []
    yield from _until_settled(context, group_id)
    for topic in offsets.newest_topics(group_id):
        for partition in offsets.each_partition(group_id, topic):
            keys.append(OffsetKey(group_id, topic, partition))
            if len(keys) >= records_max:
                yield from _until_settled(context, group_id)
                yield list(_offset_records(offsets, keys))
                keys.clear()
    yield from _until_settled(context, group_id)
    yield list(_offset_records(offsets, keys))


def _until_settled(context: Context, group_id: str) -> Iterator[list[EncodedRecord]]:
    """Wait while offsets of a transaction that has ended do not count yet: the log has them as newer ones."""
    while context.staged.is_closing(context.partition(group_id)):
        yield []


def _offset_records(offsets: OffsetTable, keys: Iterable[OffsetKey]) -> Iterator[EncodedRecord]:
    for key in keys:
        value = offsets.newest(key)
        if value is not None:
            yield encode_record(key, value)


def _group_slices(context: Context, group: ClassicGroup | ConsumerGroup) -> Iterator[list[EncodedRecord]]:
    """Yield the records of a group's metadata, some members or topics at a time, until it is another's."""
    records: list[EncodedRecord] = []
    weight = 0
    for key in _group_keys(group):
        if context.groups.get(group.group_id) is not group:
            return
        value = _value_of(group, key)
        topics = _topics_in(value)
        if topics >= WIDE_TOPICS:
            yield records
            find = partial(_value_while_there, context, group, key)
            record = yield from encoded_apart(find, partial(encode_record, key))
            records, weight = [] if record is None else [record], 0
        elif value is not None:
            records.append(encode_record(key, value))
            weight += 1 + topics // TOPICS_PER_RECORD
        if weight >= GROUP_RECORDS_AT_ONCE:
            yield records
            records, weight = [], 0
    yield records


def _group_keys(group: ClassicGroup | ConsumerGroup) -> Iterator[Key]:
    """Yield the keys of a group's records; it may change meanwhile."""
    group_id = group.group_id
    if isinstance(group, ClassicGroup):
        yield ClassicGroupKey(group_id)
        return
    for member_id in list(group.metadata):
        yield MemberKey(group_id, member_id)
    for regex in list(group.regexes):
        yield RegexKey(group_id, regex)
    yield GroupEpochKey(group_id)
    for member_id in list(group.target):
        yield TargetKey(group_id, member_id)
    yield TargetEpochKey(group_id)
    for member_id in list(group.current):
        yield CurrentKey(group_id, member_id)


def _value_of(group: ClassicGroup | ConsumerGroup, key: Key) -> Any:
    """Return what a record says now; None if it was deleted meanwhile."""
    if isinstance(group, ClassicGroup):
        return group.written
    match key:
        case MemberKey():
            return group.metadata.get(key.member_id)
        case RegexKey():
            return group.regexes.get(key.regex)
        case GroupEpochKey():
            return GroupEpoch(group.epoch, group.metadata_hash)
        case TargetKey():
            return group.target.get(key.member_id)
        case TargetEpochKey():
            return TargetEpoch(group.target_epoch, group.target_ms)
        case CurrentKey():
            return group.current.get(key.member_id)
    return None


def _value_while_there(context: Context, group: ClassicGroup | ConsumerGroup, key: Key) -> Any:
    """Return what a record says now; None if it was deleted meanwhile, or its group."""
    return _value_of(group, key) if context.groups.get(group.group_id) is group else None


def _topics_in(value: Any) -> int:
    if isinstance(value, MemberMetadata):
        return len(value.topics)
    if isinstance(value, MemberAssignment):
        return len(value.assigned) + len(value.revoking)
    return len(value) if isinstance(value, dict) else 0
