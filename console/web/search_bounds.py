"""The bounds of one page's search: its time, its records, and whether anyone still waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SECONDS_MAX: Final = 5.0
RECORDS_MAX: Final = 1_000_000
BEYOND_FULL: Final = 200_000
"""Records that are still counted when the page is full."""


class Bounds:
    """The bounds of one page's search; `leave`, from any thread, ends it soon."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        seconds: float = SECONDS_MAX,
        records: int = RECORDS_MAX,
    ) -> None:
        self.clock = clock
        self._seconds = seconds
        self._ends = clock() + seconds
        self._records_left = records
        self._left = False

    @property
    def left(self) -> bool:
        """Whether it was ended from outside."""
        return self._left

    def spent(self) -> bool:
        """Whether nothing more may be looked at."""
        return self._left or self._records_left <= 0 or self.clock() > self._ends

    def begin(self) -> None:
        """Count the time from now on: what came before, such as the start of a process, was no search."""
        self._ends = self.clock() + self._seconds

    def take(self, records: int) -> None:
        """Count records that were looked at."""
        self._records_left -= records

    def page_is_full(self) -> None:
        """Look at some more at most, to count what there is."""
        self._records_left = min(self._records_left, BEYOND_FULL)

    def leave(self) -> None:
        """End the search: the browser has left, or the same user searches for something else."""
        self._left = True
