"""The tags that keys bring along when their topic grows, learned once for all views of the same columns.

A producer's partitioner sends a key elsewhere when there are more partitions.  What it was tagged with before
counts there, too: the record of the growth has the ends of all partitions at that moment, up to which they
are looked through here.

    growth 1: ends (5, 9)     growth 2: ends (7, 12, 3)
    table 1   keys tagged in partitions 0..4, 0..8             table 2   table 1, and 5..6, 9..11, 0..2

Where a key was tagged in several partitions between two growths, the one with the lowest number counts. All
records below the ends are decided, so the tables are the same whenever they are made. If compaction erases
records of the topic's vnodes, they are made again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.loop.slices import WaitingSteps
    from broker.storage.partition import Partition
    from views.tag_history import Cut, TagHistory

    Table = dict[bytes, tuple[int, dict[str, Any]]]
    Teach = Callable[[Partition, TagHistory, int, int], WaitingSteps]

KEYS_PER_SLICE: Final = 1_000
"""Keys entered into a table before other work gets a turn: about 0.4 ms."""

INHERITED_MAX: Final = 400_000
"""The most keys of a table, in some 100 MB; those that were tagged first are forgotten first."""


class InheritedTags:
    """The tables of one topic."""

    def __init__(self, source: Topic, partition_of: Callable[[int], Partition]) -> None:
        self._source = source
        self._partition_of = partition_of
        self._compactions = -1
        self._tables: list[tuple[tuple[int, ...], Table]] = []
        # By partition: what was learned of it so far, and up to where.
        self._learned: dict[int, tuple[TagHistory, int]] = {}
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
            self._compactions, self._tables, self._learned = compactions, [], {}
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
                self._tables, self._learned = [], {}

    def _learn(self, ends: tuple[int, ...], teach: Teach) -> WaitingSteps:
        from views.tag_history import TagHistory

        growths = len(self._tables)
        table: Table = dict(self._tables[-1][1]) if self._tables else {}
        tagged: set[bytes] = set()
        for index, end in enumerate(ends):
            partition = self._partition_of(index)
            history, start = self._learned.get(index, (None, 0))
            if history is None:
                history = TagHistory(0, cuts=self.cuts(index))
            elif self._tables:
                history.add_cut(self.cuts(index)[-1])
            yield from teach(partition, history, start, end)
            for number, (key, tags) in enumerate(history.tagged_since(start)):
                if not number % KEYS_PER_SLICE:
                    yield None
                if key not in tagged:
                    tagged.add(key)
                    table.pop(key, None)
                    table[key] = growths, tags
            self._learned[index] = history, end
        while len(table) > INHERITED_MAX:
            del table[next(iter(table))]
        self._tables.append((ends, table))

    def cuts(self, index: int) -> list[Cut]:
        """Return the growths that are known as a partition sees them."""
        from views.tag_history import Cut

        return [Cut(ends[index] if index < len(ends) else 0, table) for ends, table in self._tables]
