"""Offsets by time: the log finds the batch, which is opened to find the record.  Source: KIP-79, KIP-734."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from broker.errors import RequestError, storage_error
from broker.loop.slices import Offload, Until, all_here, in_thread, run_here
from broker.storage.partition import Partition
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed
from protocol.timestamp_lookup import Lookup, TimestampedOffset, max_timestamp_steps, timestamp_steps
from wal.disk import DiskError
from wal.errors import WalError
from wal.lookup import TimeHit

NOTHING_FOUND = (-1, -1)

STEPS_AT_ONCE: Final = 4
"""Steps of a lookup before another one has its turn in the thread: about 8 ms."""


def first_at_or_after(partition: Partition, timestamp_ms: int) -> tuple[int, int]:
    """Do all of `first_steps` at once."""
    found: tuple[int, int] = all_here(first_steps(partition, timestamp_ms, run_here))
    return found


def first_steps(
    partition: Partition, timestamp_ms: int, offload: Offload
) -> Generator[Until | None, None, tuple[int, int]]:
    """Find (timestamp, offset) of the first readable record at or after the time, (-1, -1) without any.

    Batches are opened and walked in threads, which `offload` runs.
    Raises:
        RequestError: KAFKA_STORAGE_ERROR, a batch cannot be read; INVALID_RECORD, what is in it cannot.
    """
    from_offset = partition.log_start
    try:
        while (
            hit := (yield from partition.time_steps(timestamp_ms, from_offset=from_offset, offload=offload))
        ) is not None:
            steps = timestamp_steps(hit.batch, timestamp_ms, from_offset=from_offset)
            found = yield from _in_threads(steps, offload)
            if found is not None:
                return found.timestamp_ms, found.offset
            # The header promised what no record of it keeps, or only records below the log start do.
            from_offset = hit.next_offset
    except (WalError, DiskError) as error:
        raise storage_error(error) from error
    return NOTHING_FOUND


def largest_timestamp(partition: Partition) -> tuple[int, int]:
    """Do all of `largest_steps` at once."""
    found: tuple[int, int] = all_here(largest_steps(partition, run_here))
    return found


def largest_steps(partition: Partition, offload: Offload) -> Generator[Until | None, None, tuple[int, int]]:
    """Find (timestamp, offset) of the first record that has the partition's largest timestamp.

    Raises: RequestError as `first_steps`.
    """
    log_start = partition.log_start
    try:
        hit = yield from partition.newest_steps(offload)
    except (WalError, DiskError) as error:
        raise storage_error(error) from error
    if hit is None:
        return NOTHING_FOUND
    found = yield from _in_threads(max_timestamp_steps(hit.batch, from_offset=log_start), offload)
    return NOTHING_FOUND if found is None else (found.timestamp_ms, found.offset)


def _in_threads(steps: Lookup, offload: Offload) -> Generator[Until, None, TimestampedOffset | None]:
    """Do the steps of a lookup in threads, a few at a time, so that lookups take turns there."""
    ended: list[TimestampedOffset | None] = []

    def work() -> None:
        for _ in range(STEPS_AT_ONCE):
            try:
                next(steps)
            except StopIteration as end:
                ended.append(end.value)
                return

    try:
        while not ended:
            yield from in_thread(offload, work)
    except Malformed as error:
        raise RequestError(ErrorCode.INVALID_RECORD, str(error)) from error
    return ended[0]


Hits = Generator[Until | tuple[int, TimeHit] | None, None, None]
"""Batches with the timestamps up to which they may be, and pauses in between."""


def newest_of(
    hits: Hits,
    shown: Callable[[TimeHit], Generator[Until | None, None, TimeHit | None]] | None = None,
) -> Generator[Until | None, None, TimeHit | None]:
    """Return the first of the newest batches; `hits` come as from `hits_by_time`, `shown` cuts them."""
    best: TimeHit | None = None
    for found in hits:
        if found is None or isinstance(found, Until):
            yield found
            continue
        timestamp, whole = found
        if best is not None and (-timestamp, whole.base_offset) > (-best.max_timestamp, best.base_offset):
            break
        hit = whole if shown is None else (yield from shown(whole))
        if hit is not None and (
            best is None or (-hit.max_timestamp, hit.base_offset) < (-best.max_timestamp, best.base_offset)
        ):
            best = hit
    return best
