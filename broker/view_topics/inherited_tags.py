"""The tags that keys bring along when their topic grows, learned once for all views of the same columns.

A producer's partitioner sends a key elsewhere when there are more partitions.  What it was tagged with before
counts there, too: the record of the growth has the ends of all partitions at that moment, up to which they
are looked through here.

    growth 1: ends (5, 9)     growth 2: ends (7, 12, 3)
    table 1   keys tagged in partitions 0..4, 0..8             table 2   5..6, 9..11, 0..2, else as in table 1

Where a key was tagged in several partitions between two growths, the one with the lowest number counts. All
records below the ends are decided, so the tables are the same whenever they are made. If compaction erases
records of the topic's vnodes, they are made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.loop.slices import WaitingSteps
    from broker.storage.partition import Partition
    from views.key_room import KeyRoom
    from views.tag_history import Cut, TagHistory

    Table = dict[bytes, tuple[int, dict[str, Any]]]
    Teach = Callable[[Partition, TagHistory, int, int], WaitingSteps]

KEYS_PER_SLICE: Final = 1_000
"""Keys entered into a table before other work gets a turn: about 0.4 ms."""

INHERITED_MAX: Final = 200_000
"""The most keys of a topic's tables together, in some 50 MB; those tagged first are forgotten first."""

INHERITED_TEXT_MAX: Final = 32 << 20
"""The most bytes of these keys and their tags."""


class Inherited(Mapping[bytes, tuple[int, dict[str, Any]]]):
    """The tags of keys at a growth: of those tagged since the one before, and what was inherited there.

    A topic may grow a hundred times: a copy for each growth would take as much again.
    """

    __slots__ = ("_before", "own")

    def __init__(self, own: Table, before: Inherited | None) -> None:
        self.own = own
        self._before = before

    def __getitem__(self, key: bytes) -> tuple[int, dict[str, Any]]:
        layer: Inherited | None = self
        while layer is not None:
            found = layer.own.get(key)
            if found is not None:
                return found
            layer = layer._before
        raise KeyError(key)

    def __iter__(self) -> Iterator[bytes]:
        seen: set[bytes] = set()
        layer: Inherited | None = self
        while layer is not None:
            yield from (key for key in layer.own if key not in seen)
            seen.update(layer.own)
            layer = layer._before

    def __len__(self) -> int:
        return sum(1 for _ in self)


class InheritedTags:
    """The tables of one topic."""

    def __init__(self, source: Topic, partition_of: Callable[[int], Partition], room: KeyRoom) -> None:
        self._source = source
        self._room = room
        self._partition_of = partition_of
        self._compactions = -1
        self._tables: list[tuple[tuple[int, ...], Inherited]] = []
        # The keys of all tables, and the bytes of keys and tags.
        self._count = self._text = 0
        self._is_learning = False

    @property
    def _ends(self) -> list[tuple[int, ...]]:
        return [ends for ends in self._source.growth_ends if ends]

    def steps(self, teach: Teach, compactions: int) -> WaitingSteps:
        """Make the missing tables; `teach(partition, history, start, end)` shows batches to a history.

        Raises: WalError, DiskError.
        """
        while self._is_learning:
            yield None  # another fetch is making them, and yields in turn
        known = [ends for ends, _ in self._tables]
        if compactions != self._compactions or known != self._ends[: len(known)]:
            self._compactions = compactions
            self._forget()
        self._is_learning = True
        is_done = False
        try:
            for ends in self._ends[len(self._tables) :]:
                yield from self._learn(ends, teach)
            is_done = True
        finally:
            self._is_learning = False
            if not is_done:
                # The client may have left in the middle of a batch.
                self._forget()

    def _forget(self) -> None:
        self._room.free([table.own for _, table in self._tables])
        self._tables = []
        self._count = self._text = 0

    def _learn(self, ends: tuple[int, ...], teach: Teach) -> WaitingSteps:
        from views.tag_history import TagHistory, text_bytes

        growths, known = len(self._tables), self._tables[-1][0] if self._tables else ()
        table: Table = {}
        for index, end in enumerate(ends):
            start = known[index] if index < len(known) else 0
            # Those of all partitions together may be large: each is learned again at the next growth.
            history = TagHistory(0, cuts=self.cuts(index), room=self._room)
            yield from teach(self._partition_of(index), history, 0, end)
            for number, (key, tags) in enumerate(history.tagged_since(start)):
                if not number % KEYS_PER_SLICE:
                    yield None
                if key not in table:
                    table[key] = growths, tags
                    self._count += 1
                    self._text += len(key) + text_bytes(tags)
        self._tables.append((ends, Inherited(table, self._tables[-1][1] if self._tables else None)))
        yield from self._forget_oldest()

    def _forget_oldest(self) -> WaitingSteps:
        """Keep within the bounds of all tables together; the first one has the keys tagged first."""
        from views.tag_history import text_bytes

        for _, table in self._tables:
            keys = iter(tuple(table.own)) if self._is_too_much else iter(())
            for number, key in enumerate(keys):
                if not self._is_too_much:
                    break
                if not number % KEYS_PER_SLICE:
                    yield None
                self._text -= len(key) + text_bytes(table.own.pop(key)[1])
                self._count -= 1

    @property
    def _is_too_much(self) -> bool:
        return self._count > INHERITED_MAX or self._text > INHERITED_TEXT_MAX

    def cuts(self, index: int) -> list[Cut]:
        """Return the growths that are known as a partition sees them."""
        from views.tag_history import Cut

        return [Cut(ends[index] if index < len(ends) else 0, table) for ends, table in self._tables]
