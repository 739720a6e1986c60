"""Retention, by a timer: log starts move over whole logical segments, then files that no stream needs go.

Every `log.retention.check.interval.ms` all partitions with data are looked at, some in each slice so that the
event loop stays free.  A partition whose oldest records are young and whose size is within its limit costs
two
comparisons; only the others are cut into logical segments (wal/retention.py), as Kafka would have rolled
them.
Consumers are not asked: what is old goes, read or not, unless a group is marked as important
(broker/upkeep/retention_holds.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from broker.storage.partition import Partition
from broker.upkeep.retention_holds import Holds
from protocol.records import iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import WalError
from wal.retention import LogicalSegments, RetentionPolicy, RollPolicy, Run
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.config.topic_settings import TopicSettings
    from broker.core import Broker

logger = logging.getLogger("kawal.retention")

PARTITIONS_PER_SLICE: Final = 200
"""Partitions looked at before other work has its turn: about 0.2 ms when nothing is to be deleted."""

SLICE_PAUSE_MS: Final = 1

LOADING_PAUSE_MS: Final = 100
"""How long a pass waits, again and again, for the groups' offsets to be loaded."""


class RetentionTask:
    """Runs retention over all partitions, again and again, a slice at a time."""

    def __init__(self, broker: Broker, now_ms: int) -> None:
        self._broker = broker
        self._partitions: Iterator[Partition] = iter(())
        self._holds: Holds | None = None
        self.held_partitions = 0
        """Partitions that the last whole pass left longer than their retention, for groups."""
        self._schedule(now_ms)

    def _schedule(self, now_ms: int) -> None:
        interval_ms = self._broker.config.log_retention_check_interval_ms
        self._broker.timers.add(now_ms + interval_ms, self._begin)

    def _begin(self, now_ms: int) -> None:
        if self._broker.catalogue.group_configs and not self._broker.groups.coordinator.is_loaded:
            # Nobody knows yet what groups have committed, so what they hold must not be deleted.
            self._broker.timers.add(now_ms + LOADING_PAUSE_MS, self._begin)
            return
        self._holds = Holds(self._broker)
        self._partitions = self._with_data()
        self._run_slice(now_ms)

    def _with_data(self) -> Iterator[Partition]:
        for topic in tuple(self._broker.catalogue.by_name.values()):
            if topic.view is not None or not self._broker.topics.settings(topic).deletes:
                continue
            for index in range(topic.partition_count):
                partition = self._broker.topics.partition(topic, index)
                if partition.high_watermark > partition.log_start:
                    yield partition

    def _run_slice(self, now_ms: int) -> None:
        for _ in range(PARTITIONS_PER_SLICE):
            partition = next(self._partitions, None)
            if partition is None:
                self._note_held()
                self._retire_segments()
                self._schedule(now_ms)
                return
            if partition.topic.topic_id in self._broker.catalogue.by_id:
                self._apply(partition, now_ms)
        self._broker.timers.add(now_ms + SLICE_PAUSE_MS, self._run_slice)

    def _apply(self, partition: Partition, now_ms: int) -> None:
        settings = self._broker.topics.settings(partition.topic)
        wall_ms = self._broker.wall_ms(now_ms)
        try:
            if not _may_delete(partition, settings, wall_ms):
                return
            log_start = new_log_start(partition, settings, wall_ms)
            if log_start > partition.log_start and self._holds is not None:
                log_start = self._holds.start(partition, log_start, wall_ms)
            if log_start > partition.log_start:
                partition.vnode.log.set_log_start(partition.stream_id, log_start)
        except (WalError, DiskError) as error:
            logger.error("retention of %s-%d is put off: %s", partition.topic.name, partition.index, error)

    def _note_held(self) -> None:
        assert self._holds is not None
        held = self._holds.partitions
        if held != self.held_partitions:
            logger.info("%d partitions are kept longer than their retention for groups", held)
        self.held_partitions = held

    def _retire_segments(self) -> None:
        self._broker.topics.drop_again()
        for vnodes in self._broker.vnodes.values():
            for vnode in vnodes:
                try:
                    vnode.log.retire_segments()
                except (WalError, DiskError) as error:
                    logger.error("vnode %s: segments cannot be retired: %s", vnode.name, error)


def _may_delete(partition: Partition, settings: TopicSettings, wall_ms: int) -> bool:
    """Whether any limit can be exceeded, from the stream's size and its oldest extent alone."""
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
        # What compaction left lies close together, whatever its age.
        oldest = next(batches_of(partition, Run(*extent)), None)
    return oldest is not None and wall_ms - oldest.max_timestamp > settings.retention_ms


def new_log_start(partition: Partition, settings: TopicSettings, wall_ms: int) -> int:
    """The partition's log start after retention."""
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
    """The batches of a run, one by one."""
    start = max(run.base_offset, partition.log_start)
    result = partition.vnode.log.read(partition.stream_id, start, run.size_bytes)
    data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        if header.base_offset >= run.next_offset:
            return  # the run's first batches are gone, and what is behind it had room in its place
        yield Run(header.base_offset, header.last_offset + 1, header.size_bytes, header.max_timestamp)
