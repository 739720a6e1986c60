"""Histograms by powers of two: finding the bucket of a number is one `bit_length`."""

from __future__ import annotations

from typing import Final

BITS: Final = 64
"""The numbers that are counted fit into this many bits."""


class Histogram:
    """Whole numbers by size: `counts[n]` are those below 2^n and not below 2^(n-1)."""

    __slots__ = ("counts", "total")

    def __init__(self, counts: list[int] | None = None, total: int = 0) -> None:
        """Begin with these counts, which are not copied, and the sum of the numbers."""
        self.counts = [0] * (BITS + 1) if counts is None else counts
        self.total = total

    def add(self, value: int) -> None:
        """Count a number, of at most 64 bits."""
        self.counts[value.bit_length()] += 1
        self.total += value

    @property
    def count(self) -> int:
        """The number of values counted."""
        return sum(self.counts)
