"""Loading and copying of share groups: their records in __consumer_offsets, among those of other groups."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from groups.apart import WIDE_TOPICS, encoded_apart
from groups.copies import GROUP_RECORDS_AT_ONCE, TOPICS_PER_RECORD
from groups.effects import EncodedRecord
from groups.loading import belongs
from groups.share.group_records import (
    ShareCurrent,
    ShareGroupKey,
    ShareMember,
    decode_share_record,
    encode_share_record,
)
from groups.share.group_table import ShareGroups
from groups.share.share_group import ShareGroup
from protocol.errors import ProtocolError

logger = logging.getLogger("kawal.groups")

GROUPS_LOOKED_AT: Final = 1_000
"""The groups that a snapshot checks at a time, in some 5 ms, for those of its partition."""


def replay_share_record(
    table: ShareGroups, partition: int, key: bytes | memoryview, value: bytes | memoryview | None
) -> None:
    """Apply one record of a partition that is being loaded.

    A group with a record that cannot be read is not served. A record whose key cannot be read is left out.
    """
    context = table.context
    try:
        decoded = decode_share_record(key, value)
    except ProtocolError as error:
        _leave_out(table, partition, bytes(key), error)
        return
    if decoded is None or not belongs(context, partition, group_id := decoded[0].group_id):
        return
    if group_id in context.misread:
        context.misread.forget_key(group_id, key)
    table.replay(*decoded)
    context.replayed[group_id] = None


def _leave_out(table: ShareGroups, partition: int, key: bytes, error: ProtocolError) -> None:
    context = table.context
    try:
        decoded = decode_share_record(key, None)
    except ProtocolError:
        context.counts["left_out"] += 1
        logger.error("a record of __consumer_offsets is left out, as its key cannot be read: %s", error)
        return
    if decoded is not None and belongs(context, partition, group_id := decoded[0].group_id):
        context.misread.note(partition, group_id, key)
        context.replayed[group_id] = None
        context.quarantined[group_id] = f"a record of it cannot be read by this version: {error}"


def share_snapshot(table: ShareGroups, partition: int) -> Iterator[list[EncodedRecord]]:
    """Yield lists of records that together make up the share groups of a partition.

    Each list must be appended before anything else is done; it holds some records of one group, or nothing
    where the search for groups has taken a while.
    """
    for number, group_id in enumerate([*table.groups]):
        if number % GROUPS_LOOKED_AT == GROUPS_LOOKED_AT - 1:
            yield []
        group = table.groups.get(group_id)
        if group is not None and table.context.partition(group_id) == partition:
            yield from _group_slices(table, group)


def _group_slices(table: ShareGroups, group: ShareGroup) -> Iterator[list[EncodedRecord]]:
    records: list[EncodedRecord] = []
    weight = 0
    for key, value in group.records():
        if table.groups.get(group.group_id) is not group:
            return
        topics = _topics_in(value)
        if topics >= WIDE_TOPICS:
            yield records
            find, encode = partial(_value_of, table, group, key), partial(encode_share_record, key)
            record = yield from encoded_apart(find, encode)
            records, weight = [] if record is None else [record], 0
            continue
        records.append(encode_share_record(key, value))
        weight += 1 + topics // TOPICS_PER_RECORD
        if weight >= GROUP_RECORDS_AT_ONCE:
            yield records
            records, weight = [], 0
    yield records


def _value_of(table: ShareGroups, group: ShareGroup, key: ShareGroupKey) -> Any:
    """Return what a record says now; None if there is none, or the group is another's."""
    return group.value_of(key) if table.groups.get(group.group_id) is group else None


def _topics_in(value: Any) -> int:
    if isinstance(value, ShareMember):
        return len(value.topics)
    if isinstance(value, ShareCurrent):
        return len(value.assigned)
    return len(value) if isinstance(value, dict) else 0
