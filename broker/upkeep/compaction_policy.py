"""The part of a partition that may be compacted now, and whether it is worth a pass, as in Kafka's cleaner.

    [ clean: copies | dirty, to be compacted | too young, or a transaction is open | active segment ]
      log start       first dirty              uncleanable                                       log end

    a pass is due     when dirty / (clean + dirty) is above min.cleanable.dirty.ratio, or
                      when the first dirty record is older than max.compaction.lag.ms, or
                      when tombstones or markers that an earlier pass kept may go
    never compacted   the active segment; records younger than min.compaction.lag.ms; records at or above
                      the last stable offset

Segments are logical ones (wal/retention.py), cut as Kafka would have rolled them; the last one is active.
Source: Kafka 4.3, LogCleanerManager.grabFilthiestCompactedLog and cleanableOffsets.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from typing import Final, NamedTuple

from broker.config.topic_settings import TopicSettings
from broker.storage.partition import Partition
from broker.upkeep.retention_walk import batches_of
from wal.retention import LogicalSegment, LogicalSegments, RollPolicy, Run

EXTENTS_PER_SLICE: Final = 500
"""Extents looked at before other work gets a turn: 1 to 2 ms."""


class DirtyPart(NamedTuple):
    """The extent of a possible pass."""

    first_dirty: int
    uncleanable: int
    """The latest end of the pass; not above `first_dirty` if nothing may be compacted."""
    clean_bytes: int
    dirty_bytes: int
    overdue: bool
    """Whether a record is older than the topic allows, so that the ratio does not matter."""

    @property
    def ratio(self) -> float:
        """The dirty share of the compactable bytes."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, settings: TopicSettings) -> bool:
        """Whether a pass is worth its cost."""
        if self.uncleanable <= self.first_dirty:
            return False
        return self.overdue or self.ratio > settings.min_cleanable_dirty_ratio


def dirty_part(
    partition: Partition, settings: TopicSettings, wall_ms: int
) -> Generator[None, None, DirtyPart]:
    """Find the dirty part of a partition, in slices; `wall_ms` is wall time.  Raises: WalError, DiskError."""
    log, stream_id = partition.vnode.log, partition.stream_id
    first_dirty = max(log.clean_end(stream_id), partition.log_start)
    segments = LogicalSegments()
    policy = RollPolicy(settings.segment_bytes, min(settings.segment_ms, settings.max_compaction_lag_ms))
    offset = first_dirty
    while True:
        # A new walk for each slice: segments may come and go in between.
        extents = list(islice(log.extents(stream_id, offset), EXTENTS_PER_SLICE))
        segments.add_all(
            (Run(max(extent.base_offset, offset), *extent[1:]) for extent in extents),
            policy,
            batches_of=lambda run: batches_of(partition, run),
        )
        if len(extents) < EXTENTS_PER_SLICE:
            break
        offset = extents[-1].next_offset
        yield
    return _judged(partition, settings, wall_ms, first_dirty, segments.segments)


def _judged(
    partition: Partition, settings: TopicSettings, wall_ms: int, first_dirty: int, found: list[LogicalSegment]
) -> DirtyPart:
    uncleanable = min(found[-1].base_offset if found else first_dirty, partition.last_stable_offset)
    closed = found[:-1]
    if settings.min_compaction_lag_ms > 0:
        oldest_young = wall_ms - settings.min_compaction_lag_ms
        young = next((segment for segment in closed if segment.newest_ms > oldest_young), None)
        if young is not None:
            uncleanable = min(uncleanable, young.base_offset)
    begins = [segment.first_timestamp for segment in closed if segment.first_timestamp > 0]
    overdue = bool(begins) and wall_ms - min(begins) > settings.max_compaction_lag_ms
    return DirtyPart(
        first_dirty=first_dirty,
        uncleanable=uncleanable,
        clean_bytes=partition.vnode.log.copied_bytes(partition.stream_id),
        dirty_bytes=sum(segment.size_bytes for segment in closed if segment.base_offset < uncleanable),
        overdue=overdue,
    )
