"""The amount of work that views do before other work gets a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

SLICE_UNITS: Final = 3_000
"""Work done before other work gets a turn, in units of about 1.5 µs: one for each record evaluated."""

SLICE_NS: Final = 5_000_000
"""The longest time for a slice, whatever its units say."""

BATCH_UNITS: Final = 30
"""The cost of a batch besides its records."""

BYTES_PER_UNIT: Final = 2_048
"""Decompressing, parsing and summing also cost by the byte."""


class SliceBudget:
    """The work that may still be done in this slice."""

    __slots__ = ("_clock_ns", "_until_ns", "left")

    def __init__(self, clock_ns: Callable[[], int] = lambda: 0) -> None:
        """Begin a slice; a steady `clock_ns` bounds it, as one statement may cost a hundred times another."""
        self.left = SLICE_UNITS
        self._clock_ns = clock_ns
        self._until_ns = clock_ns() + SLICE_NS

    def spend(self, *, records: int, size_bytes: int) -> bool:
        """Account for one batch; return True if the slice is over and a new one begins."""
        if self.spend_units(BATCH_UNITS + records + size_bytes // BYTES_PER_UNIT):
            self._until_ns = self._clock_ns() + SLICE_NS
            return True
        now_ns = self._clock_ns()
        if now_ns <= self._until_ns:
            return False
        self.left = SLICE_UNITS
        self._until_ns = now_ns + SLICE_NS
        return True

    def spend_units(self, units: int) -> bool:
        """Account for some work; return True as `spend` does."""
        self.left -= units
        if self.left > 0:
            return False
        self.left = SLICE_UNITS
        return True
