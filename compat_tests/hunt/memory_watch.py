"""The memory of a piece's server: its peak, when it was, and what the server had to do at that moment."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from compat_tests.overload.figures import status_mib

LOOK_SECONDS: Final = 0.02
"""The time between two looks: a request of 16 MiB is in memory for longer."""

STEP_MIB: Final = 32.0
"""By so much a peak is above the one before, to be looked at more closely."""

LOOKED_AT_MIB: Final = 320.0
"""From here on a peak is looked at: the server writes into its log what it does."""


class Act(NamedTuple):
    """An act of a player, by the clock of all processes (CLOCK_MONOTONIC)."""

    began: float
    ended: float
    name: str


class MemoryWatch:
    """A thread that follows the memory of processes until one of them ends, or it is left."""

    def __init__(self, pid: int, pids: Sequence[int] = ()) -> None:
        """`pid` is that of the server, `pids` are those of its workers, if it has any."""
        self._pid = pid
        self._pids = pids or [pid]
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.peak_mib = 0.0
        self.peak_at = 0.0
        self._dumped_mib = LOOKED_AT_MIB - STEP_MIB

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        statuses = [Path(f"/proc/{pid}/status") for pid in self._pids]
        # A process that has ended has no status, or one without memory.
        with contextlib.suppress(OSError, AssertionError):
            while not self._stopped.wait(LOOK_SECONDS):
                mib = sum(status_mib(status.read_text(), "VmRSS") for status in statuses)
                self.note(mib, time.monotonic())

    def note(self, mib: float, now: float) -> None:
        """Take a figure; a peak well above the last has the server write its stacks into its log."""
        if mib <= self.peak_mib:
            return
        self.peak_mib, self.peak_at = mib, now
        if mib >= self._dumped_mib + STEP_MIB:
            self._dumped_mib = mib
            self.dump()

    def dump(self) -> None:
        """Have the server write its stacks into its log."""
        os.kill(self._pid, signal.SIGQUIT)

    def at_peak(self, acts: Iterable[Act]) -> list[str]:
        """Return the names of the acts that were under way at the peak."""
        return sorted(act.name for act in acts if act.began <= self.peak_at <= act.ended)
