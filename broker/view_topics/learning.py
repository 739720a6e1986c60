"""One look of a view at its source, as far as it learns of sub-tables on the way.

A look has to begin where the history ends, and pass everything from there on in order.  It ends early when
what was learned is forgotten meanwhile: the view looks again.  Without topics that declare their tables it
costs nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker.loop.slices import Until
    from broker.view_topics.declared_tables import DeclaredTables, Told
    from broker.view_topics.stream_owners import Owner
    from broker.view_topics.view_slices import SliceBudget
    from protocol.compression import Readable
    from views.opening import Opened
    from views.table_history import TableHistory
    from wal.versions import VersionedEntry


class Learning:
    """The learning of one look."""

    __slots__ = ("_history", "_log_start", "_revision", "_tables")

    def __init__(self, tables: DeclaredTables | None, log_start: int) -> None:
        """Begin; `tables` is None if there are none to learn of, `log_start` where the view begins."""
        self._tables = tables if tables is not None and tables.has_topics else None
        self._log_start = log_start
        self._revision = 0 if self._tables is None else self._tables.revision
        self._history: TableHistory | None = None

    @property
    def has_tables(self) -> bool:
        """Whether there were sub-tables to learn of when the look began."""
        return self._tables is not None

    def begin(self, offset: int) -> int:
        """Return the offset where looking has to begin to show what is at an offset."""
        if self._tables is None:
            return offset
        self._history, offset = self._tables.at(offset, self._log_start)
        return offset

    @property
    def is_current(self) -> bool:
        """Whether what was learned still counts."""
        return self._tables is None or self._tables.revision == self._revision

    def knows(self, end: int) -> bool:
        """Whether everything before an offset has been learned."""
        return self._history is None or self._history.end >= end

    def passed(self, offset: int) -> None:
        """Note that everything before an offset has been looked at."""
        if self._history is not None and self.is_current:
            self._history.passed(offset)

    def told(
        self,
        entry: VersionedEntry,
        owner: Owner,
        part: Readable,
        budget: SliceBudget,
        content: Opened | None = None,
    ) -> Generator[Until | None, None, dict[int, Told]]:
        """Return what the records of a part of a batch tell, and learn it.

        `content`: the records, if the part is a batch that is open.
        Raises: Malformed, OffsetOutOfRange, WalError, DiskError.
        """
        assert self._tables is not None
        assert self._history is not None
        return (yield from self._tables.steps(entry, owner, part, self._history, budget, content))
