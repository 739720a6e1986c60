"""The facts about splits that the gates of groups need (groups/split_gates.py), from catalogue and logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.catalogue.metadata import Metadata
from broker.config import group_configs
from broker.loop.loop import Loop
from broker.loop.slices import Steps
from groups.share.state_records import ShareKey
from protocol.errors import Malformed
from protocol.record_reader import iter_records
from protocol.records import iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import WalError
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic
    from broker.coordinators.shares import Shares
    from broker.storage.partition import Partition
    from groups.partition_tree import Split

LOOK_BYTES: Final = 16 << 10
"""The bytes looked at in one go: about 260 batches without records, in half a millisecond."""

FROM_END: Final = "latest"


class Found(NamedTuple):
    """The end of a look for a record: the offset up to which there is none."""

    offset: int
    at_record: bool
    is_sure: bool = True
    """Whether that was read; what cannot be read counts as a record."""


class NodeSplits:
    """The splits of this node's topics."""

    def __init__(self, metadata: Metadata, loop: Loop, shares: Callable[[], Shares]) -> None:
        self._metadata = metadata
        self._loop = loop
        self._shares = shares
        # By stream and child: the offset in the parent from which on there is no record before the cut.
        self._clear_from: dict[tuple[int, int], int] = {}
        # The offset in the parent from which on there is one; so there is from any before.
        self._record_from: dict[tuple[int, int], int] = {}
        self._scanned: set[tuple[int, int]] = set()
        self.topics: Mapping[str, Topic] = metadata.catalogue.split_topics

    def is_read(self, topic: str, split: Split, position: int | None) -> bool:
        """Whether nothing is left before a split for a group at that position in the parent.

        After a crash the log may end before the cut: what came after the end was not acknowledged.
        """
        partition = self._partition(topic, split.parent)
        end = min(split.cut, partition.log_end)
        start = max(partition.log_start, position or 0)
        key = (partition.stream_id, split.child)
        if start >= end or start >= self._clear_from.get(key, end):
            return True
        if start <= self._record_from.get(key, -1):
            return False
        found = first_record(partition, start, end)
        if found.at_record:
            if found.is_sure:
                self._record_from[key] = found.offset
            return False
        if found.offset < end:
            # Very many batches without records: the rest is looked at beside other work.
            if key not in self._scanned:
                self._scanned.add(key)
                self._loop.scheduler.add_work(self._scan(partition, key, start, found.offset, end))
            return False
        self._clear_from[key] = start
        return True

    def _scan(self, partition: Partition, key: tuple[int, int], start: int, offset: int, end: int) -> Steps:
        """Find out whether a record is left before a cut; the gate is looked at again by itself."""
        found = Found(offset, at_record=False)
        while not found.at_record and found.offset < end:
            yield
            found = first_record(partition, found.offset, end)
        self._scanned.discard(key)
        if not found.at_record:
            self._clear_from[key] = min(start, self._clear_from.get(key, start))

    def is_forced(self, topic: str, split: Split) -> bool:
        """Whether kawal.split.gate.max.wait.ms has passed since the split."""
        found = self._metadata.catalogue.split_topics[topic]
        wait_ms = self._metadata.topics.settings(found).kawal_split_gate_max_wait_ms
        clock = self._loop.clock
        return 0 <= wait_ms <= clock.wall_ms(clock.turn_ms) - split.at_ms

    def log_start(self, topic: str, partition: int) -> int:
        """Return the first offset of a partition."""
        return self._partition(topic, partition).log_start

    def share_position(self, group_id: str, topic: str, partition: int) -> int | None:
        """Return the first offset that a share group has not done with; None if it has no state there."""
        topic_id = self._metadata.catalogue.split_topics[topic].topic_id
        return self._shares().position(ShareKey(group_id, topic_id, partition))

    def shares_from_end(self, group_id: str) -> bool:
        """Whether a new share group begins with new records (share.auto.offset.reset)."""
        overrides = self._metadata.catalogue.group_configs.get(group_id) or {}
        layers = self._metadata.live_config.layers
        return group_configs.value("share.auto.offset.reset", overrides, layers) == FROM_END

    def _partition(self, topic: str, index: int) -> Partition:
        return self._metadata.topics.partition(self._metadata.catalogue.split_topics[topic], index)


def first_record(partition: Partition, start: int, end: int) -> Found:
    """Return the first offset from one on, before the end, at which a reader may find a record.

    Markers, and what is left of batches whose records were moved or dropped, have none. Clients that have
    read all records commit the offset after the last, which may be before the end. What cannot be read, or
    not yet, is taken for a record; after some batches without one the search ends where it is.
    """
    try:
        found = partition.read(start, LOOK_BYTES, end=end)
        parts = [part.read() if isinstance(part, FileRange) else part for part in found.parts]
        if not parts:
            return Found(start, at_record=True, is_sure=False)
        for batch in (batch for part in parts for batch in iter_batches(part)):
            header = read_batch_header(batch)
            if header.base_offset >= end:
                break
            if not header.is_control and header.record_count:
                has_one = header.base_offset >= start or any(
                    record.offset >= start for record in iter_records(batch)
                )
                if has_one:
                    return Found(start, at_record=True)
            start = header.last_offset + 1
    except (WalError, DiskError, Malformed):
        return Found(start, at_record=True, is_sure=False)
    return Found(start, at_record=False)
