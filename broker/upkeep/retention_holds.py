"""The records that retention must keep for groups that have not read them yet.

A group (config resource GROUP) holds records in the partitions it reads: those in which it has committed an
offset, those of topics its members subscribe to, and those of the topics in
`kawal.retention.important.topics`.

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
from typing import NamedTuple, Protocol

from broker.catalogue.metadata import Metadata
from broker.config import group_configs
from broker.config.config_layers import ConfigLayers
from broker.storage.partition import Partition
from groups.offsets import Committed
from wal.lookup import StreamExtent

IMPORTANT = "kawal.retention.important"
IMPORTANT_TOPICS = "kawal.retention.important.topics"
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
    """The records that are kept for one group."""

    group_id: str
    max_bytes: int
    """NO_LIMIT, or the size to which an important group may let a partition grow."""
    availability_ms: int
    """NO_LIMIT for an important group, else the age up to which records are kept."""


class Holds:
    """The holds of all groups, as they were at one moment."""

    def __init__(self, metadata: Metadata, groups: Callable[[], GroupProgress]) -> None:
        """Collect the holds; `groups()` gives the progress of all groups."""
        self._groups = groups
        self._by_topic: dict[str, list[Hold]] = {}
        layers = metadata.live_config.layers
        for group_id, overrides in metadata.catalogue.group_configs.items():
            hold = _hold_of(group_id, overrides, layers)
            if hold is not None:
                for topic in {*groups().topics_read(group_id), *_topics_named(overrides, layers)}:
                    self._by_topic.setdefault(topic, []).append(hold)
        self.partitions = 0
        """The number of partitions, so far, in which records were kept that would have been deleted."""

    def limit(self, partition: Partition, wall_ms: int) -> int:
        """Return the offset up to which retention may delete records; NO_OFFSET if it may delete all."""
        holds = self._by_topic.get(partition.topic.name, ())
        return min((self._held_from(partition, hold, wall_ms) for hold in holds), default=NO_OFFSET)

    def _held_from(self, partition: Partition, hold: Hold, wall_ms: int) -> int:
        committed = self._groups().committed(hold.group_id, partition.topic.name, partition.index)
        log_start = partition.log_start
        floor = log_start if committed is None else max(committed.offset, log_start)
        log, stream_id = partition.vnode.log, partition.stream_id
        if hold.availability_ms != NO_LIMIT:
            return log.offset_since(stream_id, wall_ms - hold.availability_ms, from_offset=floor)
        if hold.max_bytes != NO_LIMIT:
            total = log.bytes_between(stream_id, floor, partition.high_watermark)
            return _last_bytes_from(floor, log.extents(stream_id, floor), total, hold.max_bytes)
        return floor


def _hold_of(group_id: str, overrides: dict[str, str], layers: ConfigLayers) -> Hold | None:
    def value(name: str) -> int:
        found = group_configs.value(name, overrides, layers)
        assert isinstance(found, int)
        return found

    if value(IMPORTANT):
        return Hold(group_id, value(IMPORTANT_MAX_BYTES), NO_LIMIT)
    if value(AVAILABILITY_MS):
        return Hold(group_id, NO_LIMIT, value(AVAILABILITY_MS))
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
