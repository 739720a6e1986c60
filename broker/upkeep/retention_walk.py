"""A check of retention on one stream: whether something may be due, and the walk over its oldest segments.

Indexes and batches that are on the disk are read by threads: another client would wait for a cold disk, too.
The walk itself goes on at the extent for which something had to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar

from broker.config.topic_settings import TopicSettings
from broker.loop.slices import Offload, Until, in_thread
from broker.storage.partition import Partition
from broker.storage.parts import joined, joined_in_thread
from broker.storage.remote_waits import when_fetched
from broker.upkeep.retention_queue import NEVER, Walked
from protocol.records import iter_batches, read_batch_header
from wal.errors import IndexNotLoaded
from wal.reader import Part
from wal.retention import Oldest, RetentionPolicy, RollPolicy, Run, Walk

Found = TypeVar("Found")

EXTENTS_PER_SLICE: Final = 500
"""Extents walked over before other work gets a turn: 1 to 2 ms."""

INDEX_LOADS_MAX: Final = 20
"""Times that threads read for one place of a walk, after which the loop does: what they read may be gone."""


def clean_end(partition: Partition) -> int:
    """Return the end of the compacted part of a partition."""
    return partition.vnode.log.clean_end(partition.stream_id)


def oldest_of(partition: Partition, settings: TopicSettings, known: Walked | None) -> Oldest:
    """Return the oldest logical segment as far as it was walked, or an empty one to begin with."""
    policy = RollPolicy(settings.segment_bytes, settings.segment_ms)
    if (
        known is None
        or known.oldest.policy != policy
        or known.clean_end != clean_end(partition)
        or not known.oldest.holds(partition.log_start)
    ):
        return Oldest(policy)
    return known.oldest


def quiet_until(
    partition: Partition, settings: TopicSettings, wall_ms: int, offload: Offload
) -> Generator[Until | None, None, int | None]:
    """Return the time of day up to which nothing can expire; None if the partition must be walked.

    It is judged by the stream's size and its oldest extent alone.
    """
    log, stream_id = partition.vnode.log, partition.stream_id
    if 0 <= settings.retention_bytes <= log.stream_size_bytes(stream_id):
        return None
    if settings.retention_ms < 0:
        return NEVER
    extent = yield from when_loaded(
        lambda may_wait: next(iter(log.extents(stream_id, may_wait=may_wait)), None), offload
    )
    if extent is None:
        return NEVER
    oldest: Run | None = Run(*extent)
    if log.clean_end(stream_id) > partition.log_start:
        # Records that compaction kept are close together, whatever their age.
        batches = yield from _batches_in_thread(partition, Run(*extent), offload)
        oldest = next(iter(batches), None)
    if oldest is None:
        return NEVER
    due_ms = oldest.max_timestamp + settings.retention_ms + 1
    return due_ms if due_ms > wall_ms and oldest.max_timestamp >= 0 else None


def when_loaded(read: Callable[[bool], Found], offload: Offload) -> Generator[Until, None, Found]:
    """Return what `read(may_wait)` returns, after threads have read the indexes that it has missed."""
    for _ in range(INDEX_LOADS_MAX):
        try:
            return read(False)
        except IndexNotLoaded as cold:
            missing = cold
        yield from in_thread(offload, missing.load)
        missing.adopt()
    return read(True)


class _Unread(Exception):
    """A walk needs the batches of a run."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.run = run


def walked(
    partition: Partition,
    oldest: Oldest,
    settings: TopicSettings,
    wall_ms: int,
    limit: Callable[[], int],
    offload: Offload,
) -> Generator[Until | None, None, Walk]:
    """Walk over the oldest logical segments of a partition, in slices, and return how far retention goes."""
    read: dict[Run, list[Run]] = {}

    def batches_that_were_read(run: Run) -> list[Run]:
        if run not in read:
            raise _Unread(run)
        return read.pop(run)

    walk = Walk(
        oldest,
        RetentionPolicy(settings.retention_bytes, settings.retention_ms),
        log_start=partition.log_start,
        size_bytes=_size_from(partition, oldest) if settings.retention_bytes >= 0 else 0,
        now_ms=wall_ms,
        limit=limit,
        batches_of=batches_that_were_read,
    )
    log, stream_id = partition.vnode.log, partition.stream_id
    tried, last = 0, -1
    while not walk.is_over:
        offset = walk.log_start if oldest.next_offset is None else oldest.next_offset
        tried, last = (tried + 1 if offset == last else 0), offset
        # A new look for each slice: segments may come and go in between.
        extents = islice(log.extents(stream_id, offset, may_wait=tried >= INDEX_LOADS_MAX), EXTENTS_PER_SLICE)
        try:
            taken = walk.take(Run(max(extent.base_offset, offset), *extent[1:]) for extent in extents)
        except IndexNotLoaded as cold:
            missing: IndexNotLoaded | Run = cold
        except _Unread as unread:
            missing = unread.run
        else:
            if taken < EXTENTS_PER_SLICE:
                walk.end(log_end=partition.log_end, high_watermark=partition.high_watermark)
                break
            yield None
            continue
        if isinstance(missing, Run):
            read[missing] = yield from _batches_in_thread(partition, missing, offload)
            yield None
        else:
            yield from in_thread(offload, missing.load)
            missing.adopt()
    return walk


def _size_from(partition: Partition, oldest: Oldest) -> int:
    """Return the partition's size from the beginning of its oldest segment."""
    log, stream_id = partition.vnode.log, partition.stream_id
    size_bytes = partition.size_bytes
    segment = oldest.segment
    if segment is not None and segment.base_offset < partition.log_start:
        size_bytes += log.bytes_between(stream_id, segment.base_offset, partition.log_start)
    return size_bytes - oldest.hidden_bytes


def batches_of(partition: Partition, run: Run) -> Iterator[Run]:
    """Yield the batches of a run, one by one; reads them here, which may block."""
    return _batches_in(joined(_parts_of(partition, run, may_wait=True)), run)


def _batches_in_thread(partition: Partition, run: Run, offload: Offload) -> Generator[Until, None, list[Run]]:
    """Return the batches of a run, which a thread reads if they are not in memory."""
    try:
        parts = _parts_of(partition, run, may_wait=False)
    except IndexNotLoaded:
        # Its index was in memory a moment ago, and other work has taken its place; or its batches are in the
        # object store.
        parts = yield from when_fetched(lambda: _parts_of(partition, run, may_wait=True))
    data = yield from joined_in_thread(parts, offload)
    return list(_batches_in(data, run))


def _parts_of(partition: Partition, run: Run, *, may_wait: bool) -> Sequence[Part]:
    start = max(run.base_offset, partition.log_start)
    return partition.vnode.log.read(partition.stream_id, start, run.size_bytes, may_wait=may_wait).parts


def _batches_in(data: bytes, run: Run) -> Iterator[Run]:
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        if header.base_offset >= run.next_offset:
            return  # the run's first batches are gone, and the read went past the run in their place
        yield Run(header.base_offset, header.last_offset + 1, header.size_bytes, header.max_timestamp)
