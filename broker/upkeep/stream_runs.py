"""Streams as runs of consecutive ids: those of topics that were made together take 16 bytes in all."""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class StreamRuns:
    """Runs in the order in which they were added."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self) -> None:
        self._firsts = array("Q")
        self._lasts = array("Q")

    def add(self, first: int, count: int) -> None:
        """Add so many streams; those beside the newest run join it."""
        if not count:
            return
        last = first + count - 1
        if self._lasts and self._lasts[-1] + 1 == first:
            self._lasts[-1] = last
        elif self._firsts and last + 1 == self._firsts[-1]:
            self._firsts[-1] = first
        else:
            self._firsts.append(first)
            self._lasts.append(last)

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._firsts)

    def __iter__(self) -> Iterator[int]:
        """Yield every stream."""
        for first, last in zip(self._firsts, self._lasts, strict=True):
            yield from range(first, last + 1)
