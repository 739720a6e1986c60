"""The streams that retention must look at: those written to, and those whose oldest records may be too old.

A check costs what is due, not what exists.  What is written waits for the next check, because a stream grows
by it; everything else has a time of day before which nothing in it can expire.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Final

from wal.retention import Oldest

SWEEP_AFTER: Final = 64
"""Outdated entries that stay in the heap before any are removed."""

NEVER: Final = 1 << 62
"""The time of streams in which nothing expires unless something is written."""


class Known:
    """The facts about one stream: when to look again, and its oldest logical segment if it was walked."""

    __slots__ = ("clean_end", "due_ms", "oldest")

    def __init__(self) -> None:
        self.due_ms = NEVER
        self.oldest: Oldest | None = None
        self.clean_end = 0
        """The end of the compacted part when the segment was walked: after that it is another one."""


class RetentionQueue:
    """Streams by the time of day at which they are due, and those that were written to."""

    def __init__(self) -> None:
        self._known: dict[int, Known] = {}
        self._heap: list[tuple[int, int]] = []
        self._touched: set[int] = set()

    def __len__(self) -> int:
        return len(self._known)

    def touch(self, stream_ids: Iterable[int]) -> None:
        """Have these streams looked at by the next check."""
        self._touched.update(stream_ids)

    def known(self, stream_id: int) -> Known:
        """Return the facts about a stream; there are none at first."""
        found = self._known.get(stream_id)
        if found is None:
            found = self._known[stream_id] = Known()
        return found

    def forget(self, stream_id: int) -> None:
        """Forget a stream that was deleted, is empty, or keeps everything."""
        self._known.pop(stream_id, None)

    def put(self, stream_id: int, due_ms: int) -> None:
        """Have the stream looked at by the first check at or after this time of day."""
        known = self.known(stream_id)
        if known.due_ms == due_ms:
            return
        known.due_ms = due_ms
        if due_ms < NEVER:
            heappush(self._heap, (due_ms, stream_id))
        if len(self._heap) > 2 * len(self._known) + SWEEP_AFTER:
            self._heap = [entry for entry in self._heap if self._is_current(entry)]
            heapify(self._heap)

    def _is_current(self, entry: tuple[int, int]) -> bool:
        known = self._known.get(entry[1])
        return known is not None and known.due_ms == entry[0]

    def take(self, wall_ms: int) -> list[int]:
        """Take the streams to look at now, without order."""
        taken, self._touched = self._touched, set()
        while self._heap and self._heap[0][0] <= wall_ms:
            entry = heappop(self._heap)
            if self._is_current(entry):
                self._known[entry[1]].due_ms = NEVER
                taken.add(entry[1])
        return list(taken)
