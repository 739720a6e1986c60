"""The lag of a group in a partition: in records, and by the age of the first unread one."""

from __future__ import annotations

from typing import Final, NamedTuple

from broker.storage.partition import Partition
from wal.disk import DiskError
from wal.errors import WalError

UNKNOWN_AGE = -1

RANGES_MAX: Final = 100
"""Ranges of a view that are counted: there may be many groups and partitions, and each is shown."""


class Lag(NamedTuple):
    """The distance from a group's progress to the end of a partition."""

    log_start: int
    end_offset: int
    records: int
    """Offsets between the progress and the end, of which a compacted topic may have removed records.

    Of a view, only those that it shows, and those of which it is not known yet.
    """
    age_ms: int
    """The age of the first unread record, 0 if there is none; UNKNOWN_AGE if the log cannot tell.

    It is that of the extent that holds the record, so it may be too small by the time span of one extent (128
    KiB); the age of the record itself would cost a disk read.
    """


def lag_of(partition: Partition, offset: int | None, wall_ms: int) -> Lag:
    """Return the lag of a group that reads `offset` next; without progress (None) all records count."""
    log_start, end_offset = partition.log_start, partition.high_watermark
    position = log_start if offset is None else min(max(offset, log_start), end_offset)
    counted = partition.records_between(position, end_offset, ranges_max=RANGES_MAX)
    records = counted.shown + counted.unknown
    return Lag(log_start, end_offset, records, age_of(partition, position, wall_ms) if records else 0)


def age_of(partition: Partition, offset: int, wall_ms: int) -> int:
    """Return the age of the record at an offset, as in Lag; UNKNOWN_AGE if the log cannot tell."""
    try:
        first = next(iter(partition.vnode.log.extents(partition.stream_id, offset)), None)
    except (WalError, DiskError):
        return UNKNOWN_AGE
    if first is None or first.max_timestamp < 0:
        return UNKNOWN_AGE
    return max(wall_ms - first.max_timestamp, 0)
