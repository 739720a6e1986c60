"""Offsets by time: the log finds the batch, which is opened to find the record.  Source: KIP-79, KIP-734."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker.errors import storage_error
from broker.storage.partition import Partition
from protocol.timestamp_lookup import find_max_timestamp, find_timestamp
from wal.disk import DiskError
from wal.errors import WalError
from wal.lookup import TimeHit

NOTHING_FOUND = (-1, -1)


def first_at_or_after(partition: Partition, timestamp_ms: int) -> tuple[int, int]:
    """Return (timestamp, offset) of the first readable record at or after the time, else (-1, -1).

    Raises: RequestError(KAFKA_STORAGE_ERROR), when the batch cannot be read.
    """
    from_offset = partition.log_start
    try:
        while (hit := partition.find_timestamp(timestamp_ms, from_offset=from_offset)) is not None:
            found = find_timestamp(hit.batch, timestamp_ms, from_offset=from_offset)
            if found is not None:
                return found.timestamp_ms, found.offset
            # No record has the time that the header promised, or only records below the log start have it.
            from_offset = hit.next_offset
    except (WalError, DiskError) as error:
        raise storage_error(error) from error
    return NOTHING_FOUND


def largest_timestamp(partition: Partition) -> tuple[int, int]:
    """Return (timestamp, offset) of the first record that has the partition's largest timestamp.

    Raises: RequestError(KAFKA_STORAGE_ERROR), when the batch cannot be read.
    """
    log_start = partition.log_start
    try:
        hit = partition.max_timestamp()
    except (WalError, DiskError) as error:
        raise storage_error(error) from error
    if hit is None:
        return NOTHING_FOUND
    found = find_max_timestamp(hit.batch, from_offset=log_start)
    return NOTHING_FOUND if found is None else (found.timestamp_ms, found.offset)


def newest_of(
    hits: Iterable[tuple[int, TimeHit]], shown: Callable[[TimeHit], TimeHit | None] = lambda hit: hit
) -> TimeHit | None:
    """Return the first of the newest batches; `hits` come as from `hits_by_time`, `shown` cuts them."""
    best: TimeHit | None = None
    for timestamp, whole in hits:
        if best is not None and (-timestamp, whole.base_offset) > (-best.max_timestamp, best.base_offset):
            break
        hit = shown(whole)
        if hit is not None and (
            best is None or (-hit.max_timestamp, hit.base_offset) < (-best.max_timestamp, best.base_offset)
        ):
            best = hit
    return best
