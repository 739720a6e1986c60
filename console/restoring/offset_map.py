"""The offsets that records have got in a copy, by those that they had, in runs."""

from __future__ import annotations

from bisect import bisect_right


class OffsetMap:
    """Offsets of one partition: those it had ascend, those in the copy are dense."""

    __slots__ = ("_firsts", "_starts", "end", "next_source")

    def __init__(self) -> None:
        # The first offset of each run, and the offset in the copy that it has got.
        self._firsts: list[int] = []
        self._starts: list[int] = []
        # The offset after the last record in the copy, and where it came from.
        self.end = 0
        self.next_source = 0

    def add(self, offset: int) -> None:
        """Note that the next record of the copy had this offset."""
        if not self._firsts or offset != self.next_source:
            self._firsts.append(offset)
            self._starts.append(self.end)
        self.end += 1
        self.next_source = offset + 1

    def before(self, offset: int) -> int:
        """Return how many records of the copy had an offset below this one."""
        place = bisect_right(self._firsts, offset) - 1
        if place < 0:
            return 0
        length = (self._starts[place + 1] if place + 1 < len(self._starts) else self.end) - self._starts[
            place
        ]
        return self._starts[place] + min(offset - self._firsts[place], length)
