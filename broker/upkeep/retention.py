"""Retention, on a timer: moves log starts past whole logical segments, then removes files no stream needs.

Every `log.retention.check.interval.ms` the streams are looked at that were written to since, or whose oldest
records may have become too old (retention_queue.py), some in each slice so that the event loop stays free.
The first check after a start, and after a change of the server's settings, looks at all of them.  A stream
whose oldest records are young and whose size is within its limit costs two comparisons; only the others are
cut into logical segments (wal/retention.py), as Kafka would have rolled them, and only as far as needed.
Old records are deleted whether or not consumers have read them, unless a group is important
(retention_holds.py).  Age is judged by a time of day that does not follow a jump of the clock at once
(loop/clock.py).  Databases whose files have limits let whole files go (file_retention.py) before the files
that no stream needs are removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    DatabaseConfigs,
    PartitionsRenewed,
    TopicConfigs,
)
from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import Topic
from broker.loop.clock import HOLD_MS
from broker.loop.internal_errors import ErrorPlace
from broker.loop.loop import Loop
from broker.loop.slices import Steps, Until, WaitingSteps, in_thread, or_again
from broker.storage.partition import Partition
from broker.storage.vnodes import Vnodes
from broker.upkeep.file_retention import FileRetention
from broker.upkeep.retention_holds import Holds
from broker.upkeep.retention_queue import NEVER, RetentionQueue, Walked
from broker.upkeep.retention_walk import clean_end, oldest_of, quiet_until, walked, when_loaded
from broker.upkeep.stream_runs import StreamRuns
from wal.commit import Advanced
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.upkeep.progress_elsewhere import ProgressElsewhere
    from broker.upkeep.retention_holds import GroupProgress, OwnGroups

logger = logging.getLogger("kawal.retention")

GROUPS_MODULE: Final = "broker.coordinators.groups"

PARTITIONS_PER_SLICE: Final = 200
"""Partitions looked at before other work gets a turn: about 1 ms if nothing is to be deleted."""

LOADING_PAUSE_MS: Final = 100
"""The pause before another check whether the groups' offsets are loaded."""


class RetentionTask:
    """Runs retention over the partitions in which something may be due, at intervals, a slice at a time."""

    def __init__(
        self, metadata: Metadata, loop: Loop, vnodes: Vnodes, groups: Callable[[], OwnGroups], now_ms: int
    ) -> None:
        """Schedule the first check; `groups()` gives the progress of groups, if one may hold records."""
        self._metadata = metadata
        self._loop = loop
        self._vnodes = vnodes
        self._groups = groups
        self._elsewhere = self._progress_elsewhere()
        self._queue = RetentionQueue()
        self._checked_config: object = None
        """The server's settings at the last check; after a change all streams are looked at."""
        self._all_due = False
        self._changed: dict[UUID, Topic] = {}
        """Topics with new settings, until the next check."""
        self._deleted = StreamRuns()
        """The streams of topics being deleted, until the next check: the topics themselves are let go."""
        self._holds: Holds | None = None
        """The holds of groups, collected when the present check finds something to delete."""
        self.looked_at = 0
        """The partitions looked at so far."""
        self.held_partitions = 0
        """Partitions that the last check kept longer than their retention, for groups."""
        self._files = FileRetention(metadata, loop.clock, self._held_from, self._move)
        self._has_groups_module = False
        """Whether a thread has imported the coordinator of groups for it."""
        self._distrusted = False
        """Whether the wall clock is ahead of the time of day by which retention goes."""
        metadata.metadata_log.listen(self._catalogue_changed)
        self._schedule(now_ms)

    def _progress_elsewhere(self) -> ProgressElsewhere | None:
        """Return the progress of groups on all nodes; None if this one is alone."""
        if self._metadata.nodes.count == 1:
            return None
        from broker.upkeep.progress_elsewhere import ProgressElsewhere

        return ProgressElsewhere(self._metadata, self._loop, self._groups)

    # --- what is to be looked at -----------------------------------------------------------------------

    def advanced(self, streams: Iterable[Advanced]) -> None:
        """Note the streams that have more records."""
        self._queue.touch([stream.stream_id for stream in streams])

    def compacted(self, partition: Partition) -> None:
        """Note a partition whose old part was replaced by copies."""
        self._queue.touch([partition.stream_id])

    def deleted(self, topic: Topic) -> None:
        """Note a topic that is being deleted."""
        self._changed.pop(topic.topic_id, None)
        for first, count in topic.stream_runs():
            self._deleted.add(first, count)

    def _catalogue_changed(self, record: CatalogueRecord, _now_ms: int) -> None:
        if isinstance(record, DatabaseConfigs | TopicConfigs | PartitionsRenewed):
            self._files.forget()
        if isinstance(record, DatabaseConfigs):
            self._all_due = True
        elif isinstance(record, TopicConfigs | PartitionsRenewed):
            topic = self._metadata.catalogue.by_id.get(UUID(hex=record.topic_id))
            if topic is not None:
                self._changed[topic.topic_id] = topic

    def _due(self) -> Iterator[int]:
        """Return the streams to look at now."""
        config = self._metadata.config
        due: Iterable[int] = self._queue.take(self._wall_ms())
        topics, self._changed = list(self._changed.values()), {}
        deleted, self._deleted = self._deleted, StreamRuns()
        if config is not self._checked_config or self._all_due:
            due = ()
            topics += self._metadata.catalogue.by_name.values()
        self._checked_config, self._all_due = config, False
        return chain(due, deleted, (stream_id for topic in topics for stream_id in topic.stream_ids()))

    def _wall_ms(self) -> int:
        return self._loop.clock.settled_wall_ms

    # --- one check -------------------------------------------------------------------------------------

    def _schedule(self, now_ms: int) -> None:
        interval_ms = self._metadata.config.log_retention_check_interval_ms
        self._loop.timers.add(now_ms + interval_ms, self._begin)

    def _begin(self, now_ms: int) -> None:
        has_groups = bool(self._metadata.catalogue.group_configs)
        # One that another thread is importing is in sys.modules already, and the loop would wait for it.
        if has_groups and not self._has_groups_module:
            self._loop.scheduler.add_work(or_again(self._import_groups(), partial(self._schedule, now_ms)))
            return
        if has_groups and not self._groups().is_loaded:
            # The groups' committed offsets are not known yet, so records that they hold must not be deleted.
            self._loop.timers.add(now_ms + LOADING_PAUSE_MS, self._begin)
            return
        again = partial(self._schedule, now_ms)
        self._loop.scheduler.add_work(or_again(self._check(), again))

    def _import_groups(self) -> WaitingSteps:
        """Have a thread import the coordinator of groups, which takes 0.1 s, and begin again."""
        yield from in_thread(self._loop.scheduler.offload, lambda: import_module(GROUPS_MODULE))
        self._has_groups_module = True
        self._begin(self._loop.clock.turn_ms)

    def _check(self) -> WaitingSteps:
        """Apply retention to every partition in which something may be due, then retire segments."""
        self._holds = None
        held = 0
        self._note_clock()
        if self._elsewhere is not None:
            yield from self._elsewhere.begin()
        try:
            for number, stream_id in enumerate(self._due(), start=1):
                yield from self._renew()
                held += yield from self._look_safely(stream_id)
                if not number % PARTITIONS_PER_SLICE:
                    yield None
        except Exception:
            # What was due is forgotten by now.
            self._all_due = True
            raise
        held += yield from self._look_at_files()
        self._note_held(held)
        yield from self._retire_segments()
        self._schedule(self._loop.clock.turn_ms)

    def _renew(self) -> Generator[Until | None, None, None]:
        """Learn the progress of groups at other nodes again if the check takes long."""
        if self._elsewhere is not None and (yield from self._elsewhere.renew()):
            self._holds = None

    def _look_safely(self, stream_id: int) -> Generator[Until | None, None, bool]:
        """Look at one stream; return whether a group keeps records in it that would have been deleted."""
        partition = self._partition_of(stream_id)
        if partition is None:
            self._queue.forget(stream_id)
            return False
        self.looked_at += 1
        name, index = partition.topic.name, partition.index
        try:
            return (yield from self._look(partition))
        except (WalError, DiskError) as error:
            logger.error("retention of %s-%d is postponed: %s", name, index, error)
        except Exception as error:  # noqa: BLE001  (the other partitions are looked at)
            what = f"retention skips {name}-{index}"
            self._loop.internal_errors.note(ErrorPlace.BACKGROUND, what, error)
        self._queue.touch([stream_id])
        return False

    def _partition_of(self, stream_id: int) -> Partition | None:
        """Return the partition of a stream if it has records and retention may delete some."""
        found = self._metadata.catalogue.streams.find(stream_id)
        if found is None:
            return None
        topic, index = found
        settings = self._metadata.topics.settings(topic)
        is_limited = settings.retention_ms >= 0 or settings.retention_bytes >= 0
        if index >= topic.partition_count or not settings.deletes or not is_limited:
            return None
        partition = self._metadata.topics.here(topic, index)
        return partition if partition is not None and partition.high_watermark > partition.log_start else None

    def _look(self, partition: Partition) -> Generator[Until | None, None, bool]:
        offload = self._loop.scheduler.offload
        settings, wall_ms = self._metadata.topics.settings(partition.topic), self._wall_ms()
        oldest = oldest_of(partition, settings, self._queue.walks.pop(partition.stream_id, None))
        if oldest.segment is None:
            quiet_until_ms = yield from quiet_until(partition, settings, wall_ms, offload)
            if quiet_until_ms is not None:
                self._queue.put(partition.stream_id, quiet_until_ms)
                return False
        self._queue.walks[partition.stream_id] = Walked(oldest, clean_end(partition))
        walk = yield from walked(
            partition, oldest, settings, wall_ms, lambda: self._held_from(partition, wall_ms), offload
        )
        moved = walk.log_start > partition.log_start
        if moved:
            yield from self._released_bytes(partition, walk.log_start)
            moved = self._partition_of(partition.stream_id) is partition
        if moved:
            self._move(partition, walk.log_start)
        due_ms = walk.due_ms()
        # A move may yet be lost with its frame, and a group may read on: both are looked at again.
        again_ms = wall_ms if moved or walk.is_held else NEVER if due_ms is None else due_ms
        self._queue.put(partition.stream_id, again_ms)
        return walk.is_held

    def _released_bytes(self, partition: Partition, log_start: int) -> Generator[Until, None, int]:
        """Return the size of what a move releases: the log will ask for it, and must not wait."""
        log, stream_id, start = partition.vnode.log, partition.stream_id, partition.log_start
        return (
            yield from when_loaded(
                lambda may_wait: log.bytes_between(stream_id, start, log_start, may_wait=may_wait),
                self._loop.scheduler.offload,
            )
        )

    def _move(self, partition: Partition, log_start: int) -> None:
        partition.vnode.log.set_log_start(partition.stream_id, log_start)
        self._loop.waiters.log_start_moved(partition.wait_key, self._loop.clock.turn_ms)

    def _held_from(self, partition: Partition, wall_ms: int) -> int:
        if self._holds is None:
            elsewhere = self._elsewhere
            groups: Callable[[], GroupProgress]
            groups = self._groups if elsewhere is None else lambda: elsewhere
            self._holds = Holds(self._metadata, groups)
        return self._holds.limit(partition, wall_ms)

    def _note_clock(self) -> None:
        """Say so when the time of day has jumped ahead, or is trusted again."""
        distrusted_ms = self._loop.clock.distrusted_ms
        if distrusted_ms and not self._distrusted:
            logger.error(
                "the time of day has jumped ahead; retention by age leaves %d s of it out until it has stayed"
                " for %d s: set the clock right if it is wrong",
                distrusted_ms // 1000,
                HOLD_MS // 1000,
            )
        elif self._distrusted and not distrusted_ms:
            logger.warning("the time of day is trusted again for retention by age")
        self._distrusted = distrusted_ms > 0

    def _note_held(self, held: int) -> None:
        if held != self.held_partitions:
            logger.info("%d partitions are kept longer than their retention for groups", held)
        self.held_partitions = held

    def _look_at_files(self) -> Generator[Until | None, None, int]:
        """Let closed files go; return the number of partitions in which groups keep records of them."""
        held = 0
        for vnode in self._vnodes.every[1:]:
            yield from self._renew()
            try:
                held += yield from self._files.checked(vnode)
            except (WalError, DiskError) as error:
                logger.error("retention of the files of vnode %s is postponed: %s", vnode.name, error)
        return held

    def _retire_segments(self) -> Steps:
        yield from self._metadata.topics.dropped.drop_again()
        for vnode in self._vnodes.every[1:]:
            try:
                vnode.log.retire_segments()
                while vnode.log.retirement_goes_on:
                    yield
                    vnode.log.retire_segments()
            except (WalError, DiskError) as error:
                logger.error("vnode %s: segments cannot be retired: %s", vnode.name, error)
