"""The records that retention must keep for groups that have not read them yet.

A group (config resource GROUP) holds records in the partitions it reads: those in which it has committed an
offset, those of topics its members subscribe to, and those of the topics in
`kawal.retention.important.topics`.  Reading a view is reading its sources: the group's progress in the view
counts there, and a source that is named in `important.topics` too is held by that progress, not beside it.

    kawal.retention.important=true             holds all from its committed offset on (from the log start
                                               if it has committed none), except records that would make the
                                               partition larger than kawal.retention.important.max.bytes
    kawal.retention.availability.ms=N > 0      holds those of them that are not older than N ms

A hold affects only retention by time and size; DeleteRecords, DeleteTopics and compaction ignore it.  If held
records fill the disk, produce is refused (`kawal.min.free.bytes`) and nothing is dropped.

Another node may coordinate a group (progress_elsewhere.py).  As long as that node has not told how far the
group has read, the group holds records in every topic, as if it had read none of them.

Source: the important reader and the availability time of a reader in YDB topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker.catalogue.metadata import Metadata
from broker.config.group_holds import NO_LIMIT, HoldLimits, hold_limits, topics_named
from broker.storage.partition import Partition
from wal.lookup import StreamExtent

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import ViewDefinition
    from broker.catalogue.topics import Topic

NO_OFFSET = 1 << 63
"""Above every offset."""


class GroupProgress(Protocol):
    """The facts about groups that retention needs."""

    def knows(self, group_id: str, /) -> bool:
        """Whether the progress of a group is known, as the methods below tell it."""

    def topics_read(self, group_id: str) -> set[str]:
        """Return the topics that a group subscribes to or has committed offsets in."""

    def position(self, group_id: str, topic: str, partition: int) -> int | None:
        """Return the durable progress of a group in one partition: the offset to go on from."""


class OwnGroups(GroupProgress, Protocol):
    """The groups that this node coordinates."""

    @property
    def is_loaded(self) -> bool:
        """Whether all of them are known."""


class Hold(NamedTuple):
    """The records that are kept for one group, in one of the topics it reads."""

    group_id: str
    read: Topic | None
    """The topic that it reads: one with records of its own, or a view; None: what it reads is not known."""
    limits: HoldLimits


class Holds:
    """The holds of all groups, as they were at one moment."""

    def __init__(self, metadata: Metadata, groups: Callable[[], GroupProgress]) -> None:
        """Collect the holds; `groups()` gives the progress of all groups."""
        self._groups = groups
        self._metadata = metadata
        # By the id of the topic that is held, by database for views over all of it, and of all topics.
        self._by_topic: dict[str, list[Hold]] = {}
        self._by_database: dict[str, list[Hold]] = {}
        self._everywhere: dict[HoldLimits, Hold] = {}
        layers = metadata.live_config.layers
        for group_id, overrides in metadata.catalogue.group_configs.items():
            limits = hold_limits(overrides, layers)
            if limits is None:
                continue
            if groups().knows(group_id):
                self._add(group_id, groups().topics_read(group_id), topics_named(overrides, layers), limits)
            else:
                self._everywhere[limits] = Hold(group_id, None, limits)

    def _add(self, group_id: str, read: set[str], named: tuple[str, ...], limits: HoldLimits) -> None:
        """Add the holds of a group on the topics it reads, and on those that its configuration names."""
        known = self._metadata.catalogue.by_name
        through_views: set[str] = set()
        for name in sorted(read):
            topic = known.get(name)
            if topic is not None:
                self._hold(Hold(group_id, topic, limits), topic)
                if topic.view is not None:
                    through_views.add(topic.view.source_id or topic.view.source)
        for name in sorted({*named} - read):
            topic = known.get(name)
            if topic is not None and through_views.isdisjoint((topic.topic_id.hex, topic.database)):
                self._hold(Hold(group_id, topic, limits), topic)

    def _hold(self, hold: Hold, read: Topic) -> None:
        view = read.view
        if view is not None and not view.source_id:
            self._by_database.setdefault(view.source, []).append(hold)
        else:
            held_id = read.topic_id.hex if view is None else view.source_id
            self._by_topic.setdefault(held_id, []).append(hold)

    def limit(self, partition: Partition, wall_ms: int) -> int:
        """Return the offset up to which retention may delete records; NO_OFFSET if it may delete all.

        Raises: WalError, DiskError.
        """
        topic = partition.topic
        holds = (*self._by_topic.get(topic.topic_id.hex, ()), *self._everywhere.values())
        if not topic.internal:
            holds = (*holds, *self._by_database.get(topic.database, ()))
        return min((self._held_from(partition, hold, wall_ms) for hold in holds), default=NO_OFFSET)

    def _held_from(self, partition: Partition, hold: Hold, wall_ms: int) -> int:
        floor = max(self._position(partition, hold), partition.log_start)
        log, stream_id = partition.vnode.log, partition.stream_id
        max_bytes, availability_ms = hold.limits
        if availability_ms != NO_LIMIT:
            return log.offset_since(stream_id, wall_ms - availability_ms, from_offset=floor)
        if max_bytes != NO_LIMIT:
            total = log.bytes_between(stream_id, floor, partition.high_watermark)
            return _last_bytes_from(floor, log.extents(stream_id, floor), total, max_bytes)
        return floor

    def _position(self, partition: Partition, hold: Hold) -> int:
        """Return the offset in the partition from which on the group has not read."""
        if hold.read is None:
            return 0
        view, topic = hold.read.view, partition.topic
        index = partition.index
        if view is not None and not view.source_id:
            # Partition i of a view over a database is its vnode i.
            index = topic.vnode_index(index)
        offset = self._groups().position(hold.group_id, hold.read.name, index) or 0
        if view is None:
            return offset
        if view.is_windowed:
            shown = self._metadata.topics.partition(hold.read, index)
            if offset >= shown.high_watermark and shown.is_complete:
                return partition.high_watermark
            offset = max(offset, shown.log_start)
        return _own_offset(partition, view, offset)


def _own_offset(partition: Partition, view: ViewDefinition, offset: int) -> int:
    """Return the offset of the partition at an offset of a view over it."""
    if view.source_id and view.meta == "none":
        return offset
    # The offsets of views that show changes, or a database, are versions.
    return partition.vnode.log.offset_at_version(partition.stream_id, offset)


def _last_bytes_from(floor: int, extents: Iterator[StreamExtent], total: int, max_bytes: int) -> int:
    """Return the first offset from `floor` on from which the extents, `total` bytes, have at most so many."""
    while total > max_bytes and (extent := next(extents, None)) is not None:
        total -= extent.size_bytes
        floor = max(floor, extent.next_offset)
    return floor
