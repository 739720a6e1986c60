"""Compaction by key: finds the partition with the largest dirty part and compacts it, one at a time.

    every log.cleaner.backoff.ms    look at all partitions of topics with cleanup.policy=compact, in slices
    one is due                      a pass over the dirtiest (compaction_pass.py), then look again
    a pass failed                   the partition rests for a while; one that cannot be read rests until the
                                    server is restarted

compaction_policy.py decides what may be compacted, and when.  `__consumer_offsets` is kept small by its
coordinator (broker/coordinators/copier.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from broker.catalogue.metadata import Metadata
from broker.config.topic_settings import TopicSettings
from broker.loop.loop import Loop
from broker.loop.slices import Steps, WaitingSteps, in_thread, or_again
from broker.storage.partition import Partition
from broker.upkeep.compaction_policy import DirtyPart, dirty_part
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.upkeep.compaction_pass import Result

WORK_MODULE: Final = "broker.upkeep.compaction_pass"

logger = logging.getLogger("kawal.compaction")

PARTITIONS_PER_SLICE: Final = 100
"""Partitions looked at before other work gets a turn: about 0.2 ms if nothing in them is new."""

TOPICS_PER_LOOK: Final = 5
"""Topics that count as much as one partition: most are not compacted."""

BACKOFF_MS_MIN: Final = 20
"""A look costs about 1 µs for each partition even if nothing is due; `log.cleaner.backoff.ms` may be 0."""

FAILED_REST_MS: Final = 60_000
"""The time for which a partition is left alone after a failed pass."""

HORIZON_PAUSE: Final = 10
"""Passes only for tombstones are at least delete.retention.ms divided by this apart."""

JUDGED_PER_SLICE: Final = 10
"""Partitions judged before other work gets a turn: at most 3 ms each."""

Due = tuple[float, Partition, TopicSettings, DirtyPart]


class CompactionStats:
    """The work of compaction since the start."""

    __slots__ = (
        "failures",
        "passes",
        "read_bytes",
        "records_read",
        "records_removed",
        "uncleanable",
        "written_bytes",
    )

    def __init__(self) -> None:
        self.passes = 0
        self.failures = 0
        self.read_bytes = 0
        self.written_bytes = 0
        self.records_read = 0
        self.records_removed = 0
        # Partitions with a batch that cannot be read.
        self.uncleanable = 0


class CompactionTask:
    """Runs compaction over all partitions for as long as the broker lives."""

    def __init__(
        self, metadata: Metadata, loop: Loop, now_ms: int, *, compacted: Callable[[Partition], None]
    ) -> None:
        """Schedule the first look; `compacted(partition)` is called after each pass that was completed."""
        self._compacted_one = compacted
        self.stats = CompactionStats()
        self._metadata = metadata
        self._loop = loop
        self._best: Due | None = None
        self._quiet: dict[int, tuple[int, TopicSettings]] = {}
        """Stream -> high watermark and settings with which nothing was due or can become due by time."""
        self._next_quiet: dict[int, tuple[int, TopicSettings]] = {}
        """The same for the streams that the present look has met; deleted streams are thus forgotten."""
        self._resting: dict[int, int] = {}
        """Stream -> the time until which it is left alone after a failure."""
        self._unreadable: set[int] = set()
        self._horizons: dict[int, int] = {}
        """Stream -> the time of day at which tombstones or markers in it may go."""
        self._schedule(now_ms)

    def _schedule(self, now_ms: int) -> None:
        backoff_ms = max(BACKOFF_MS_MIN, self._metadata.config.log_cleaner_backoff_ms)
        self._loop.timers.add(now_ms + backoff_ms, self._look)

    def _look(self, now_ms: int) -> None:
        if not self._metadata.config.log_cleaner_enable or self._loop.stopping:
            self._schedule(now_ms)
            return
        again = partial(self._schedule, now_ms)
        self._loop.scheduler.add_work(or_again(self._look_at_all(), again))

    def _look_at_all(self) -> WaitingSteps:
        """Look at all partitions; then begin a pass, or wait."""
        self._best = None
        self._next_quiet = {}
        looked = judged = 0
        clock = self._loop.clock
        for partition in self._compacted():
            if partition is not None and self._may_be_due(partition, clock.turn_ms):
                yield from self._judge(partition)
                judged += 1
            looked += 1
            if looked >= PARTITIONS_PER_SLICE or judged >= JUDGED_PER_SLICE:
                looked = judged = 0
                yield None
        yield from self._import_pass()
        self._looked(clock.turn_ms)

    def _import_pass(self) -> WaitingSteps:
        """Let a thread import what a pass needs, if there is one to begin: that takes 30 ms."""
        if self._best is not None:
            yield from in_thread(self._loop.scheduler.offload, partial(import_module, WORK_MODULE))

    def _compacted(self) -> Iterator[Partition | None]:
        """Yield the partitions of compacted topics, and None between topics; any may be deleted meanwhile."""
        catalogue, topics = self._metadata.catalogue, self._metadata.topics
        for number, topic in enumerate(tuple(catalogue.by_name.values())):
            if not number % TOPICS_PER_LOOK:
                yield None
            # Coordinators copy their topics forward themselves (broker/coordinators/copier.py).
            if topic.internal or topic.view is not None:
                continue
            for index in range(topic.partition_count):
                if topic.topic_id not in catalogue.by_id or not topics.settings(topic).compacts:
                    break
                yield topics.here(topic, index)

    def _may_be_due(self, partition: Partition, now_ms: int) -> bool:
        stream_id = partition.stream_id
        if stream_id in self._unreadable or self._resting.get(stream_id, 0) > now_ms:
            return False
        if not partition.vnode.log.takes_copies:
            return False
        if self._horizons.get(stream_id, now_ms + 1) <= self._loop.clock.wall_ms(now_ms):
            return True
        now = (partition.high_watermark, self._metadata.topics.settings(partition.topic))
        if self._quiet.get(stream_id) != now:
            return True
        self._next_quiet[stream_id] = now
        return False

    def _judge(self, partition: Partition) -> Steps:
        """Find out how dirty a partition is, in slices."""
        settings, clock = self._metadata.topics.settings(partition.topic), self._loop.clock
        try:
            dirty = yield from dirty_part(partition, settings, clock.wall_ms(clock.turn_ms))
        except (WalError, DiskError) as error:
            self._failed(partition, str(error), clock.turn_ms)
        else:
            self._judged(partition, settings, dirty, clock.turn_ms)

    def _judged(self, partition: Partition, settings: TopicSettings, dirty: DirtyPart, now_ms: int) -> None:
        stream_id = partition.stream_id
        horizon_ms = self._horizons.get(stream_id)
        expired = horizon_ms is not None and horizon_ms <= self._loop.clock.wall_ms(now_ms)
        if dirty.is_due(settings):
            urgency = 2.0 if dirty.overdue else dirty.ratio
        elif expired and dirty.first_dirty > partition.log_start:
            urgency = 0.0
        else:
            self._note_quiet(partition, settings)
            return
        if self._best is None or urgency > self._best[0]:
            self._best = (urgency, partition, settings, dirty)

    def _note_quiet(self, partition: Partition, settings: TopicSettings) -> None:
        """Skip the partition until something is written, unless time alone may make it due."""
        by_time = settings.min_compaction_lag_ms > 0 or settings.max_compaction_lag_ms < (1 << 63) - 1
        if not by_time and partition.last_stable_offset == partition.high_watermark:
            self._next_quiet[partition.stream_id] = (partition.high_watermark, settings)

    def _looked(self, now_ms: int) -> None:
        self._quiet = self._next_quiet
        self._resting = {
            stream_id: until_ms for stream_id, until_ms in self._resting.items() if until_ms > now_ms
        }
        if self._best is None:
            self._schedule(now_ms)
            return
        _, partition, settings, dirty = self._best
        self._best = None
        if dirty.uncleanable <= dirty.first_dirty or not dirty.is_due(settings):
            dirty = dirty._replace(uncleanable=dirty.first_dirty)
        from broker.upkeep.compaction_pass import CompactionPass

        CompactionPass(
            self._metadata, self._loop, partition, settings=settings, dirty=dirty, ended=self._ended
        ).begin(now_ms)

    def _ended(self, partition: Partition, result: Result, now_ms: int) -> None:
        if result.unreadable:
            self._unreadable.add(partition.stream_id)
            self.stats.uncleanable = len(self._unreadable)
        if not result.problem:
            self._note_done(partition, result, now_ms)
        elif not result.unwanted:
            self._failed(partition, result.problem, now_ms)
        if not self._loop.stopping:
            self._loop.scheduler.soon(lambda: self._look(self._loop.clock.turn_ms))

    def _note_done(self, partition: Partition, result: Result, now_ms: int) -> None:
        self._compacted_one(partition)
        stats = self.stats
        stats.passes += 1
        stats.read_bytes += result.read_bytes
        stats.written_bytes += result.kept_bytes
        stats.records_read += result.records_read
        stats.records_removed += result.records_read - result.records_kept
        self._horizons.pop(partition.stream_id, None)
        if result.earliest_horizon_ms is not None:
            settings = self._metadata.topics.settings(partition.topic)
            not_before = self._loop.clock.wall_ms(now_ms) + settings.delete_retention_ms // HORIZON_PAUSE
            self._horizons[partition.stream_id] = max(result.earliest_horizon_ms, not_before)
        logger.info(
            "compacted topic=%s partition=%d up_to=%d records=%d kept=%d bytes=%d",
            partition.topic.name,
            partition.index,
            result.clean_end,
            result.records_read,
            result.records_kept,
            result.kept_bytes,
        )

    def _failed(self, partition: Partition, problem: str, now_ms: int) -> None:
        self._resting[partition.stream_id] = now_ms + FAILED_REST_MS
        self.stats.failures += 1
        logger.error("%s-%d was not compacted: %s", partition.topic.name, partition.index, problem)
