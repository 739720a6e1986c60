"""How much of the work of views is done before others have their turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

SLICE_UNITS: Final = 3_000
"""Work done before others have their turn, in units of about 1.5 µs: one for each record looked at."""

SLICE_NS: Final = 5_000_000
"""How long a slice may take, whatever its units say."""

BATCH_UNITS: Final = 30
"""What a batch costs besides its records."""

BYTES_PER_UNIT: Final = 2_048
"""Decompressing, parsing and summing cost by the byte as well."""


class SliceBudget:
    """The work that may still be done in this slice."""

    __slots__ = ("_clock_ns", "_until_ns", "left")

    def __init__(self, clock_ns: Callable[[], int] = lambda: 0) -> None:
        """`clock_ns` is steady: a statement may take a hundred times as long for a record as others."""
        self.left = SLICE_UNITS
        self._clock_ns = clock_ns
        self._until_ns = clock_ns() + SLICE_NS

    def spend(self, *, records: int, size_bytes: int) -> bool:
        """Account for one batch; True when the slice is over, and a new one begins."""
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
        """Account for some work; True as for `spend`."""
        self.left -= units
        if self.left > 0:
            return False
        self.left = SLICE_UNITS
        return True
