"""Replay: records are shown as far apart in time as they were written.

    due = anchor + (timestamp - anchor's timestamp) / speed

A reader (a fetch session, or else a connection with its client id) has one anchor for all partitions of a
view: the moment of its first fetch, and the earliest record that it met there.  A reader that comes back
later, or jumps elsewhere, is anchored anew, because it did not wait for the records in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from math import ceil
from typing import Final

READERS_MAX: Final = 10_000
"""Readers of one view that are remembered; the least recently seen one is forgotten first."""


class Anchor:
    """The start of a reader's time."""

    __slots__ = ("_began_ms", "_positions", "_timestamp_ms")

    def __init__(self) -> None:
        self._began_ms = 0
        self._timestamp_ms: int | None = None
        # The last offset asked for in each partition, and the position reached: the reader continues between
        # the two, because not every client counts the offsets after the last record.
        self._positions: dict[int, tuple[int, int]] = {}

    def begin(self, index: int, offset: int) -> None:
        """Note the offset that the reader asks for; if it is an unexpected one, its time begins anew."""
        low, high = self._positions.get(index, (offset, offset))
        if not low <= offset <= high:
            self._timestamp_ms = None
            self._positions.clear()

    def ended(self, index: int, offset: int, position: int) -> None:
        """Note the position up to which the reader was given records from `offset` on."""
        self._positions[index] = offset, position

    def is_running(self, now_ms: int) -> bool:
        """Whether the anchor was set before this moment."""
        return self._timestamp_ms is not None and now_ms > self._began_ms

    def due_ms(self, timestamp_ms: int, speed: float, now_ms: int) -> int:
        """Return the moment from which a record with this timestamp may be shown.

        At the moment of the anchor nothing is due yet: other partitions may have an earlier record.
        """
        if self._timestamp_ms is None:
            self._began_ms, self._timestamp_ms = now_ms, timestamp_ms
        if now_ms <= self._began_ms:
            self._timestamp_ms = min(self._timestamp_ms, timestamp_ms)
            return self._began_ms + 1
        return self._began_ms + 1 + ceil((timestamp_ms - self._timestamp_ms) / speed)


class Pacing:
    """The anchors of all readers of one view."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._anchors: OrderedDict[Hashable, Anchor] = OrderedDict()

    def __len__(self) -> int:
        return len(self._anchors)

    def anchor(self, reader: Hashable) -> Anchor:
        """Return the reader's anchor."""
        found = self._anchors.get(reader)
        if found is None:
            found = self._anchors[reader] = Anchor()
            if len(self._anchors) > READERS_MAX:
                self._anchors.popitem(last=False)
        self._anchors.move_to_end(reader)
        return found
