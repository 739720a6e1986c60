"""Retention, on a timer: moves log starts past whole logical segments, then removes files no stream needs.

Every `log.retention.check.interval.ms` all partitions with data are checked, some in each slice so that the
event loop stays free.  A partition whose oldest records are young and whose size is within its limit costs
two comparisons; only the others are cut into logical segments (wal/retention.py), as Kafka would have rolled
them.  Old records are deleted whether or not consumers have read them, unless a group is important
(retention_holds.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from broker.catalogue.metadata import Metadata
from broker.config.topic_settings import TopicSettings
from broker.loop.internal_errors import ErrorPlace
from broker.loop.loop import Loop
from broker.loop.slices import Steps, or_again
from broker.storage.partition import Partition
from broker.storage.vnodes import Vnodes
from broker.upkeep.retention_holds import GroupProgress, Holds
from protocol.records import iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import WalError
from wal.retention import LogicalSegments, RetentionPolicy, RollPolicy, Run
from wal.segment import FileRange

logger = logging.getLogger("kawal.retention")

PARTITIONS_PER_SLICE: Final = 200
"""Partitions checked before other work gets a turn: about 0.2 ms if nothing is to be deleted."""

LOADING_PAUSE_MS: Final = 100
"""The pause before another check whether the groups' offsets are loaded."""


class RetentionTask:
    """Runs retention over all partitions at intervals, a slice at a time."""

    def __init__(
        self, metadata: Metadata, loop: Loop, vnodes: Vnodes, groups: Callable[[], GroupProgress], now_ms: int
    ) -> None:
        """Schedule the first check; `groups()` gives the progress of groups, if one may hold records."""
        self._metadata = metadata
        self._loop = loop
        self._vnodes = vnodes
        self._groups = groups
        self.held_partitions = 0
        """Partitions that the last whole pass kept longer than their retention, for groups."""
        self._schedule(now_ms)

    def _schedule(self, now_ms: int) -> None:
        interval_ms = self._metadata.config.log_retention_check_interval_ms
        self._loop.timers.add(now_ms + interval_ms, self._begin)

    def _begin(self, now_ms: int) -> None:
        if self._metadata.catalogue.group_configs and not self._groups().is_loaded:
            # The groups' committed offsets are not known yet, so records that they hold must not be deleted.
            self._loop.timers.add(now_ms + LOADING_PAUSE_MS, self._begin)
            return
        again = partial(self._schedule, now_ms)
        self._loop.scheduler.add_work(or_again(self._pass(), again))

    def _pass(self) -> Steps:
        """Apply retention to every partition with data, then retire segments."""
        holds = Holds(self._metadata, self._groups)
        for number, partition in enumerate(self._partitions(), start=1):
            if partition.high_watermark > partition.log_start:
                self._apply_safely(partition, holds)
            if not number % PARTITIONS_PER_SLICE:
                yield
        self._note_held(holds.partitions)
        self._retire_segments()
        self._schedule(self._loop.clock.turn_ms)

    def _partitions(self) -> Iterator[Partition]:
        """Yield the partitions from which records may be deleted; topics may be deleted in between."""
        catalogue, topics = self._metadata.catalogue, self._metadata.topics
        for topic in tuple(catalogue.by_name.values()):
            if topic.view is not None:
                continue
            for index in range(topic.partition_count):
                if topic.topic_id not in catalogue.by_id or not topics.settings(topic).deletes:
                    break
                yield topics.partition(topic, index)

    def _apply_safely(self, partition: Partition, holds: Holds) -> None:
        try:
            self._apply(partition, holds)
        except Exception as error:  # noqa: BLE001  (the other partitions are looked at)
            what = f"retention skips {partition.topic.name}-{partition.index}"
            self._loop.internal_errors.note(ErrorPlace.BACKGROUND, what, error)

    def _apply(self, partition: Partition, holds: Holds) -> None:
        settings = self._metadata.topics.settings(partition.topic)
        clock = self._loop.clock
        wall_ms = clock.wall_ms(clock.turn_ms)
        try:
            if not _may_delete(partition, settings, wall_ms):
                return
            log_start = new_log_start(partition, settings, wall_ms)
            if log_start > partition.log_start:
                log_start = holds.start(partition, log_start, wall_ms)
            if log_start > partition.log_start:
                partition.vnode.log.set_log_start(partition.stream_id, log_start)
        except (WalError, DiskError) as error:
            logger.error("retention of %s-%d is postponed: %s", partition.topic.name, partition.index, error)

    def _note_held(self, held: int) -> None:
        if held != self.held_partitions:
            logger.info("%d partitions are kept longer than their retention for groups", held)
        self.held_partitions = held

    def _retire_segments(self) -> None:
        self._metadata.topics.drop_again()
        for vnode in self._vnodes.every[1:]:
            try:
                vnode.log.retire_segments()
            except (WalError, DiskError) as error:
                logger.error("vnode %s: segments cannot be retired: %s", vnode.name, error)


def _may_delete(partition: Partition, settings: TopicSettings, wall_ms: int) -> bool:
    """Whether any limit can be exceeded, judged by the stream's size and its oldest extent alone."""
    log, stream_id = partition.vnode.log, partition.stream_id
    if 0 <= settings.retention_bytes <= log.stream_size_bytes(stream_id):
        return True
    if settings.retention_ms < 0:
        return False
    extent = next(iter(log.extents(stream_id)), None)
    if extent is None:
        return False
    oldest: Run | None = Run(*extent)
    if log.clean_end(stream_id) > partition.log_start:
        # Records that compaction kept are close together, whatever their age.
        oldest = next(batches_of(partition, Run(*extent)), None)
    return oldest is not None and wall_ms - oldest.max_timestamp > settings.retention_ms


def new_log_start(partition: Partition, settings: TopicSettings, wall_ms: int) -> int:
    """Return the partition's log start after retention."""
    log, stream_id = partition.vnode.log, partition.stream_id
    segments = LogicalSegments()
    segments.add_all(
        (
            Run(extent.base_offset, extent.next_offset, extent.size_bytes, extent.max_timestamp)
            for extent in log.extents(stream_id)
        ),
        RollPolicy(settings.segment_bytes, settings.segment_ms),
        batches_of=lambda run: batches_of(partition, run),
    )
    return segments.delete_old(
        RetentionPolicy(settings.retention_bytes, settings.retention_ms),
        log_start=partition.log_start,
        log_end=log.next_offset(stream_id),
        high_watermark=partition.high_watermark,
        now_ms=wall_ms,
    )


def batches_of(partition: Partition, run: Run) -> Iterator[Run]:
    """Yield the batches of a run, one by one."""
    start = max(run.base_offset, partition.log_start)
    result = partition.vnode.log.read(partition.stream_id, start, run.size_bytes)
    data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        if header.base_offset >= run.next_offset:
            return  # the run's first batches are gone, and the read went past the run in their place
        yield Run(header.base_offset, header.last_offset + 1, header.size_bytes, header.max_timestamp)
