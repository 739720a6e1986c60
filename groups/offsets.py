"""Committed offsets of all groups, in memory.

Values are kept as the bytes of their records and decoded on demand: a million offsets take 250 to 350 MB and
load in seconds, and rewriting them is copying them.  What they take is counted, and limited where they come
in (`groups.offset_room`).

An offset takes effect once its record is durable. Until then it is *pending*: fetches do not see it, but
deletions must, or a commit in flight would come back from the dead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, filterfalse
from typing import Any, Final

from groups.hidden_offsets import HiddenOffsets, SetAside
from groups.offset_values import Committed, may_expire, offset_of, read_committed
from groups.record_keys import OffsetKey
from groups.row_counts import RowCounts, Rows

OFFSET_BYTES: Final = 270
"""The memory of an offset beyond its value: its places in two dicts, its partition, its rows (measured: 214
as they begin, 314 once commits have passed records)."""

READER_BYTES: Final = 700
"""The memory of a group's first offset in a topic: three dicts, and a place among the topic's readers."""

_NOTHING: Final[dict[str, dict[int, bytes]]] = {}
_NO_TOPICS: Final[Mapping[str, Mapping[int, object]]] = {}


def weight_of(value: bytes | None) -> int:
    """Return the bytes of memory of an offset with this value; without one it is none."""
    return 0 if value is None else OFFSET_BYTES + len(value)


def all_loaded(_group_id: str) -> None:
    """Return no partition: whatever group it is, its own is loaded."""


class OffsetTable:
    """The offsets of all groups by group, topic and partition."""

    __slots__ = (
        "_count", "_doomed", "_expiring", "_groups", "_loading", "_pending", "_pending_bytes",
        "_readers", "_rows", "_size_bytes", "aside", "hidden",
    )  # fmt: skip

    def __init__(self, loading: Callable[[str], int | None] = all_loaded) -> None:
        """Make an empty table; `loading(group)` is the group's partition unless that is loaded."""
        self._loading = loading
        self._groups: dict[str, dict[str, dict[int, bytes]]] = {}
        # By group, topic and partition: the number of records on their way, and the last one's value.
        self._pending: dict[str, dict[str, dict[int, tuple[int, bytes | None]]]] = {}
        # By topic: the groups that have it in one of the two tables above, in the order in which they came.
        self._readers: dict[str, dict[str, None]] = {}
        # The same of topics that were deleted, as far as what groups have in them is still in sight.
        self._doomed: dict[str, dict[str, None]] = {}
        self.hidden: deque[HiddenOffsets] = deque()
        """What groups had in deleted topics, until that is deleted from the log."""
        self.aside = SetAside()
        """The same in partitions that are being loaded; `hidden` has it when they are."""
        self._rows = RowCounts()
        self._count = 0
        self._expiring = 0
        self._size_bytes = self._pending_bytes = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """The memory of all offsets; those on their way count beside those that they replace."""
        return self._size_bytes + self._pending_bytes

    @property
    def expiring(self) -> int:
        """The number of offsets that may have an expiry time of their own."""
        return self._expiring

    # --- durable offsets ------------------------------------------------------------------------------------

    def replay(self, key: OffsetKey, value: bytes | None) -> None:
        """Apply one record, at load or once it is durable."""
        if value is None:
            self._remove(key)
            self._rows.forget(key)
            return
        topics = self._groups.get(key.group_id)
        if topics is None:
            topics = self._groups[key.group_id] = {}
        partitions = topics.get(key.topic)
        if partitions is None:
            partitions = topics[key.topic] = {}
            self._size_bytes += READER_BYTES
            self._readers.setdefault(key.topic, {})[key.group_id] = None
        old = partitions.get(key.partition)
        if old is None:
            self._count += 1
        elif may_expire(old):
            self._expiring -= 1
        if may_expire(value):
            self._expiring += 1
        partitions[key.partition] = value
        self._size_bytes += weight_of(value) - weight_of(old)

    def _remove(self, key: OffsetKey) -> None:
        topics = self._groups.get(key.group_id, _NOTHING)
        partitions = topics.get(key.topic, {})
        old = partitions.pop(key.partition, None)
        if old is None:
            return
        self._count -= 1
        self._expiring -= may_expire(old)
        self._size_bytes -= weight_of(old)
        if not partitions:
            self._size_bytes -= READER_BYTES
            del topics[key.topic]
        if not topics:
            del self._groups[key.group_id]
        if not partitions:
            self._note_unread(key)

    def _note_unread(self, key: OffsetKey) -> None:
        """Forget that the group reads the topic, unless the other table has it."""
        for table in (self._groups, self._pending):
            if key.topic in table.get(key.group_id, ()):
                return
        readers = self._readers[key.topic]
        readers.pop(key.group_id, None)
        if not readers:
            del self._readers[key.topic]

    def position(self, key: OffsetKey) -> int | None:
        """Return the offset of the progress in one partition."""
        if self._doomed:
            self.hide_before(key)
        value = self._groups.get(key.group_id, _NOTHING).get(key.topic, {}).get(key.partition)
        return None if value is None else offset_of(value)

    def get(self, group_id: str, topic: str, partition: int) -> Committed | None:
        """Return the progress in one partition."""
        if self._doomed:
            self.hide_before(OffsetKey(group_id, topic, partition))
        value = self._groups.get(group_id, _NOTHING).get(topic, {}).get(partition)
        return None if value is None else read_committed(value)

    def topics(self, group_id: str) -> Mapping[str, Mapping[int, bytes]]:
        """Return all of a group's offsets, with undecoded values; do not keep the result."""
        found = self._groups.get(group_id, _NOTHING)
        if self._doomed:
            for topic in [name for name in found if group_id in self._doomed.get(name, ())]:
                self.hide_before(OffsetKey(group_id, topic, 0))
        return found

    def groups(self) -> list[str]:
        """Return the ids of all groups with offsets."""
        return list(self._groups)

    def holds(self, group_id: str) -> bool:
        """Whether the group has offsets."""
        return group_id in self._groups

    def drop(self, group_id: str) -> None:
        """Forget a group whose partition is unloaded, but not its rows: it may be loaded again."""
        for topic, partitions in list(self.topics(group_id).items()):
            for partition in list(partitions):
                self._remove(OffsetKey(group_id, topic, partition))

    # --- offsets in deleted topics --------------------------------------------------------------------------

    def doom(self, topic: str, group_ids: Iterable[str] | None = None) -> None:
        """Have `hide_some` hide what groups have, and may come to have, in a topic that was deleted."""
        readers = self._readers.get(topic, {})
        # A copy of a dictionary as it is: of 100,000 groups it takes 1 ms, a new one 10.
        doomed = readers.copy() if group_ids is None else dict.fromkeys(group_ids)
        if doomed and topic in self._doomed:
            self._doomed[topic].update(doomed)
        elif doomed:
            self._doomed[topic] = doomed

    @property
    def has_doomed(self) -> bool:
        """Whether `hide_some` has something to do."""
        return bool(self._doomed)

    def hide_some(self, at_most: int) -> None:
        """Take what so many groups have in deleted topics out of sight, for `hidden`; it counts as memory."""
        for _ in range(at_most):
            if not self._doomed:
                return
            topic, groups = next(iter(self._doomed.items()))
            # The last one: to find its first key, a dictionary passes all that were deleted before.
            group_id, _ = groups.popitem()
            if not groups:
                del self._doomed[topic]
            self._hide(group_id, topic)

    def hide_before(self, key: OffsetKey) -> None:
        """Hide what a group has of a deleted topic before it uses offsets of another of that name."""
        groups = self._doomed.get(key.topic)
        if groups is not None and key.group_id in groups:
            del groups[key.group_id]
            if not groups:
                del self._doomed[key.topic]
            self._hide(key.group_id, key.topic)

    def _hide(self, group_id: str, topic: str) -> None:
        topics = self._groups.get(group_id)
        values = None if topics is None else topics.pop(topic, None)
        if topics is not None and not topics:
            del self._groups[group_id]
        pending = self._pending.get(group_id, {}).get(topic, {})
        if values is not None:
            self._size_bytes -= READER_BYTES
            if not pending:
                self._note_unread(OffsetKey(group_id, topic, 0))
        on_their_way = {index: last[1] for index, last in pending.items() if last[1] is not None}
        if values or on_their_way:
            part = HiddenOffsets(group_id, topic, values or {}, on_their_way)
            home = self._loading(group_id)
            if home is None:
                self.hidden.append(part)
            else:
                self.aside.add(home, part)

    def hide_late(self, key: OffsetKey, value: bytes) -> None:
        """Hide an offset of a deleted topic that comes to count now."""
        part = self.hidden[-1] if self.hidden else None
        if part is None or (part.group_id, part.topic) != (key.group_id, key.topic):
            part = HiddenOffsets(key.group_id, key.topic, {}, {})
            self.hidden.append(part)
        if (before := part.values.get(key.partition)) is not None:
            self._count_value(before, -1)
        part.values[key.partition] = value
        self._count_value(value, 1)

    def set_aside(self, home: int, key: OffsetKey, value: bytes) -> None:
        """Hide an offset of a deleted topic that is found while its partition is being loaded."""
        self.replay(key, None)
        before = self.aside.put(home, key, value)
        self._count_value(value, 1)
        if before is not None:
            self._count_value(before, -1)

    def supersede_aside(self, home: int, key: OffsetKey) -> None:
        """Forget such an offset, as there is a later record of its partition."""
        if (value := self.aside.pop(home, key)) is not None:
            self._count_value(value, -1)

    def hide_aside(self, homes: Iterable[int]) -> None:
        """Have what was set aside in these partitions deleted from now on."""
        for home in homes:
            self.hidden.extend(self.aside.take(home))

    def take_hidden(self, at_most: int) -> HiddenOffsets:
        """Return some of what is hidden first, to be deleted from the log."""
        part = self.hidden[0].take(at_most)
        if not self.hidden[0]:
            self.hidden.popleft()
        self._count_hidden(part, -1)
        return part

    def put_back(self, part: HiddenOffsets) -> None:
        """Hide again what could not be deleted from the log."""
        self.hidden.appendleft(part)
        self._count_hidden(part, 1)

    def _count_hidden(self, part: HiddenOffsets, by: int) -> None:
        for value in part.values.values():
            self._count_value(value, by)

    def _count_value(self, value: bytes, by: int) -> None:
        self._count += by
        self._expiring += by * may_expire(value)
        self._size_bytes += by * weight_of(value)

    def drop_hidden(self, is_over: Callable[[str], bool]) -> None:
        """Forget what is hidden of some groups: it is found when they are read again."""
        kept: deque[HiddenOffsets] = deque()
        for item in self.hidden:
            if is_over(item.group_id):
                self._count_hidden(item, -1)
            else:
                kept.append(item)
        self.hidden = kept

    # --- pending offsets ------------------------------------------------------------------------------------

    def announce(self, key: OffsetKey, value: bytes | None) -> None:
        """Note a record that was written but is not durable yet."""
        if self._doomed:
            self.hide_before(key)
        pending = self._pending.setdefault(key.group_id, {}).setdefault(key.topic, {})
        if not pending:
            self._readers.setdefault(key.topic, {})[key.group_id] = None
        waiting, before = pending.get(key.partition, (0, None))
        pending[key.partition] = (waiting + 1, value)
        self._pending_bytes += weight_of(value) - weight_of(before)

    def settle(self, key: OffsetKey) -> None:
        """Note that an announced record is durable, or has failed."""
        topics = self._pending[key.group_id]
        pending = topics[key.topic]
        waiting, value = pending[key.partition]
        if waiting > 1:
            pending[key.partition] = (waiting - 1, value)
            return
        del pending[key.partition]
        self._pending_bytes -= weight_of(value)
        if not pending:
            del topics[key.topic]
        if not topics:
            del self._pending[key.group_id]
        if not pending:
            self._note_unread(key)

    def keys(self, group_id: str, topic: str | None = None) -> set[OffsetKey]:
        """Return every partition that has, or may come to have, an offset; of one topic or of all."""
        names = self.newest_topics(group_id) if topic is None else (topic,)
        return {
            OffsetKey(group_id, name, index) for name in names for index in self.partitions(group_id, name)
        }

    def partitions(self, group_id: str, topic: str) -> set[int]:
        """Return the partitions of a topic that have, or may come to have, an offset."""
        pending = self._pending.get(group_id, _NO_TOPICS)
        return {*pending.get(topic, ()), *self.topics(group_id).get(topic, ())}

    def each_partition(self, group_id: str, topic: str) -> Iterator[int]:
        """Yield the same as they are now, in any order: the table may change meanwhile.

        A topic may have 200,000: a sorted set of them takes 20 ms, a copy of the table 5 to 14, and their
        numbers alone 2 to 3.
        """
        known = self.topics(group_id).get(topic, {})
        pending = self._pending.get(group_id, _NO_TOPICS).get(topic, ())
        return chain(tuple(known), tuple(filterfalse(known.__contains__, pending)))

    def groups_of(self, topic: str) -> set[str]:
        """Return the groups that have, or may come to have, offsets in a topic."""
        return set(self._readers.get(topic, ()))

    def may_read(self, group_id: str, topic: str, limit: int) -> bool:
        """Whether the group is among so many groups with offsets in a topic, or would be with a new one."""
        readers = self._readers.get(topic)
        return readers is None or len(readers) < limit or group_id in readers

    def newest_topics(self, group_id: str) -> list[str]:
        """Return the topics in which the group has, or may come to have, offsets; sorted."""
        return sorted({*self._pending.get(group_id, ()), *self.topics(group_id)})

    def newest_groups(self) -> list[str]:
        """Return the groups that have, or may come to have, offsets."""
        return [*self._groups, *(group_id for group_id in self._pending if group_id not in self._groups)]

    def newest(self, key: OffsetKey) -> bytes | None:
        """Return the value written last, durable or not."""
        pending = self._pending.get(key.group_id, {}).get(key.topic, {}).get(key.partition)
        if pending is not None:
            return pending[1]
        return self.topics(key.group_id).get(key.topic, {}).get(key.partition)

    # --- rows consumed, as TDengine counts them -------------------------------------------------------------

    def count_rows(self, key: OffsetKey, count: int, now_ms: int) -> None:
        """Count as consumed what lies between two commits; `now_ms` is the time of day."""
        self._rows.count(key, count, now_ms)

    def rows(self, group_id: str, topic: str, partition: int) -> Rows:
        """Return how many records commits have passed since the server started; it never decreases."""
        return self._rows.get(group_id, topic, partition)

    def tables(self) -> Iterator[dict[Any, Any]]:
        """Yield what holds the offsets, to be emptied when they are of no use any more."""
        yield from (self._groups, self._pending, self._rows.table(), self._readers, self._doomed)
        yield self.aside.parts

    def iterate(self, group_id: str) -> Iterator[tuple[OffsetKey, bytes]]:
        """Yield a group's offsets as records; the table must not change meanwhile."""
        for topic, partitions in self.topics(group_id).items():
            for index, value in partitions.items():
                yield OffsetKey(group_id, topic, index), value
