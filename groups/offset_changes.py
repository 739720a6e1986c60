"""The order in which committed offsets of some groups have changed, for nodes that ask what is new to them.

Changes are kept in chunks with growing numbers, each change in the chunk of its last time alone:

    chunk 7: g/t/0 g/t/4     chunk 9: g     chunk 12 (open): g/t/2

Who knows all up to a number is told the chunks above it, oldest first.  So nothing is remembered for those
who ask, an answer costs what has changed, and memory is that of the watched offsets.  A name alone stands for
the topics that the group reads.

An offset that is removed is a change, too, and would be kept for good: after some of them, and when a group
is no longer watched or is loaded again, all begin anew in another *life*, with nothing known to anyone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import count
from sys import intern
from typing import Final, NamedTuple

from groups.offsets import OffsetTable, all_loaded
from groups.record_keys import OffsetKey

CHUNK: Final = 500
"""The weight of a chunk, but for its last change; an offset weighs 1, a group as much as it has topics."""

WEIGHT_AT_ONCE: Final = 1_000
"""The weight of an answer, but for its last chunk: 3 ms to read if each offset is in a topic of its own."""

LONG_NAME: Final = 100
"""The characters of a group's id that weigh as much as an offset: it is told with each topic."""

REMOVED_MAX: Final = 10_000
"""The removals in one life: 2 MB, if the offsets never come back."""

CHANGE_BYTES: Final = 230
"""The memory of a change: its key, its places in two dicts, and its part of a chunk."""

_LIVES: Final = count(1)

Change = OffsetKey | str


class Changed(NamedTuple):
    """The first changes after a number, the oldest chunk first."""

    changes: list[Change]
    next_after: int
    has_more: bool


class OffsetChanges:
    """The changes of the groups that are watched."""

    __slots__ = ("_chunk_of", "_chunks", "_newest", "_removed", "_weights", "groups", "life")

    def __init__(self) -> None:
        self.groups: dict[str, frozenset[str]] = {}
        """The groups that are watched, and the topics that each was last seen to read."""
        self._begin()

    def _begin(self) -> None:
        self.life = next(_LIVES)
        self._chunks: dict[int, dict[Change, None]] = {}
        self._chunk_of: dict[Change, int] = {}
        # What has been put into each chunk: some of it may have left.
        self._weights: dict[int, int] = {}
        self._newest, self._removed = 1, 0

    def begin_anew(self) -> None:
        """Forget all changes and groups, in another life."""
        self.groups.clear()
        self._begin()

    @property
    def size_bytes(self) -> int:
        """The memory of all changes."""
        return CHANGE_BYTES * len(self._chunk_of)

    def note(self, change: Change, weight: int = 1) -> None:
        """Make a change the newest one; `weight` is that of its topics, if it is a group's."""
        if isinstance(change, OffsetKey):
            # Each record has names of its own, of up to 32 KB, and changes are kept.
            change = OffsetKey(intern(change.group_id), intern(change.topic), change.partition)
            weight += len(change.group_id) // LONG_NAME
        newest, before = self._newest, self._chunk_of.get(change)
        if before == newest:
            return
        if before is not None:
            chunk = self._chunks[before]
            del chunk[change]
            if not chunk:
                del self._chunks[before], self._weights[before]
        self._chunk_of[change] = newest
        self._chunks.setdefault(newest, {})[change] = None
        weights = self._weights[newest] = self._weights.get(newest, 0) + weight
        if weights >= CHUNK:
            self._newest += 1

    def note_removal(self, key: OffsetKey) -> None:
        """Note that there is no offset any more."""
        self._removed += 1
        if self._removed > REMOVED_MAX:
            self.begin_anew()
        else:
            self.note(key)

    def after(self, number: int) -> Changed:
        """Return the changes in chunks above a number; what changes from now on is in a later chunk."""
        if self._newest in self._chunks:
            self._newest += 1
        # The chunks are in the order of their numbers: only the newest one is ever made.
        numbers = list(self._chunks)
        found: list[Change] = []
        weight = 0
        for each in numbers[bisect_right(numbers, number) :]:
            if weight >= WEIGHT_AT_ONCE:
                return Changed(found, number, True)
            found += self._chunks[each]
            weight += self._weights[each]
            number = each
        return Changed(found, number, False)


class WatchedOffsets(OffsetTable):
    """The offsets of all groups, of which some are watched."""

    __slots__ = ("changes",)

    def __init__(self, loading: Callable[[str], int | None] = all_loaded) -> None:
        super().__init__(loading)
        self.changes: Final = OffsetChanges()

    @property
    def size_bytes(self) -> int:
        """The memory of all offsets, with that of their changes."""
        return super().size_bytes + self.changes.size_bytes

    def replay(self, key: OffsetKey, value: bytes | None) -> None:
        """Apply one record, at load or once it is durable."""
        super().replay(key, value)
        if key.group_id in self.changes.groups:
            if value is None:
                self.changes.note_removal(key)
            else:
                self.changes.note(key)

    def drop(self, group_id: str) -> None:
        """Forget a group whose partition is unloaded; what was told of it is void."""
        super().drop(group_id)
        if group_id in self.changes.groups:
            self.changes.begin_anew()
