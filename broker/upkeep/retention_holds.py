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
records fill the disk, produce is refused (`kawal.min.free.bytes`) and nothing is dropped.  Source: the
important reader and the availability time of a reader in YDB topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker.catalogue.metadata import Metadata
from broker.config import group_configs
from broker.config.config_layers import ConfigLayers
from broker.config.group_keys import IMPORTANT_TOPICS
from broker.storage.partition import Partition
from groups.offsets import Committed
from wal.lookup import StreamExtent

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import ViewDefinition
    from broker.catalogue.topics import Topic

IMPORTANT = "kawal.retention.important"
IMPORTANT_MAX_BYTES = "kawal.retention.important.max.bytes"
AVAILABILITY_MS = "kawal.retention.availability.ms"
NO_LIMIT = -1
NO_OFFSET = 1 << 63
"""Above every offset."""


class GroupProgress(Protocol):
    """The facts about groups that retention needs."""

    @property
    def is_loaded(self) -> bool:
        """Whether all groups are known."""

    def topics_read(self, group_id: str) -> set[str]:
        """Return the topics that a group subscribes to or has committed offsets in."""

    def committed(self, group_id: str, topic: str, partition: int) -> Committed | None:
        """Return the durable progress of a group in one partition."""


class Hold(NamedTuple):
    """The records that are kept for one group, in one of the topics it reads."""

    group_id: str
    read: Topic
    """The topic that it reads: one with records of its own, or a view."""
    max_bytes: int
    """NO_LIMIT, or the size to which an important group may let a partition grow."""
    availability_ms: int
    """NO_LIMIT for an important group, else the age up to which records are kept."""


class Holds:
    """The holds of all groups, as they were at one moment."""

    def __init__(self, metadata: Metadata, groups: Callable[[], GroupProgress]) -> None:
        """Collect the holds; `groups()` gives the progress of all groups."""
        self._groups = groups
        self._metadata = metadata
        # By the id of the topic that is held, and by database for views over all of it.
        self._by_topic: dict[str, list[Hold]] = {}
        self._by_database: dict[str, list[Hold]] = {}
        layers = metadata.live_config.layers
        for group_id, overrides in metadata.catalogue.group_configs.items():
            limits = _limits_of(overrides, layers)
            if limits is not None:
                self._add(group_id, groups().topics_read(group_id), _topics_named(overrides, layers), limits)

    def _add(self, group_id: str, read: set[str], named: tuple[str, ...], limits: tuple[int, int]) -> None:
        """Add the holds of a group on the topics it reads, and on those that its configuration names."""
        known = self._metadata.catalogue.by_name
        through_views: set[str] = set()
        for name in sorted(read):
            topic = known.get(name)
            if topic is not None:
                self._hold(Hold(group_id, topic, *limits))
                if topic.view is not None:
                    through_views.add(topic.view.source_id or topic.view.source)
        for name in sorted({*named} - read):
            topic = known.get(name)
            if topic is not None and through_views.isdisjoint((topic.topic_id.hex, topic.database)):
                self._hold(Hold(group_id, topic, *limits))

    def _hold(self, hold: Hold) -> None:
        view = hold.read.view
        if view is not None and not view.source_id:
            self._by_database.setdefault(view.source, []).append(hold)
        else:
            held_id = hold.read.topic_id.hex if view is None else view.source_id
            self._by_topic.setdefault(held_id, []).append(hold)

    def limit(self, partition: Partition, wall_ms: int) -> int:
        """Return the offset up to which retention may delete records; NO_OFFSET if it may delete all.

        Raises: WalError, DiskError.
        """
        topic = partition.topic
        holds = self._by_topic.get(topic.topic_id.hex, ())
        if not topic.internal:
            holds = (*holds, *self._by_database.get(topic.database, ()))
        return min((self._held_from(partition, hold, wall_ms) for hold in holds), default=NO_OFFSET)

    def _held_from(self, partition: Partition, hold: Hold, wall_ms: int) -> int:
        floor = max(self._position(partition, hold), partition.log_start)
        log, stream_id = partition.vnode.log, partition.stream_id
        if hold.availability_ms != NO_LIMIT:
            return log.offset_since(stream_id, wall_ms - hold.availability_ms, from_offset=floor)
        if hold.max_bytes != NO_LIMIT:
            total = log.bytes_between(stream_id, floor, partition.high_watermark)
            return _last_bytes_from(floor, log.extents(stream_id, floor), total, hold.max_bytes)
        return floor

    def _position(self, partition: Partition, hold: Hold) -> int:
        """Return the offset in the partition from which on the group has not read."""
        view, topic = hold.read.view, partition.topic
        index = partition.index
        if view is not None and not view.source_id:
            # Partition i of a view over a database is its vnode i.
            index = topic.vnode_index(index)
        committed = self._groups().committed(hold.group_id, hold.read.name, index)
        offset = 0 if committed is None else committed.offset
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


def _limits_of(overrides: dict[str, str], layers: ConfigLayers) -> tuple[int, int] | None:
    """Return a hold's `max_bytes` and `availability_ms`, or None if the group holds nothing."""

    def value(name: str) -> int:
        found = group_configs.value(name, overrides, layers)
        assert isinstance(found, int)
        return found

    if value(IMPORTANT):
        return value(IMPORTANT_MAX_BYTES), NO_LIMIT
    if value(AVAILABILITY_MS):
        return NO_LIMIT, value(AVAILABILITY_MS)
    return None


def _topics_named(overrides: dict[str, str], layers: ConfigLayers) -> tuple[str, ...]:
    found = group_configs.value(IMPORTANT_TOPICS, overrides, layers)
    assert isinstance(found, tuple)
    return found


def _last_bytes_from(floor: int, extents: Iterator[StreamExtent], total: int, max_bytes: int) -> int:
    """Return the first offset from `floor` on from which the extents, `total` bytes, have at most so many."""
    while total > max_bytes and (extent := next(extents, None)) is not None:
        total -= extent.size_bytes
        floor = max(floor, extent.next_offset)
    return floor
