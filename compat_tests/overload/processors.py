"""The processors of the machine that processes without a part in a measurement keep busy.

A measurement on a busy machine tells of the machine: with one of two cores taken, a good client's p99 was
three times what it is on a quiet one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")

BUSY: Final = (0, 1, 2, 5, 6, 7)
"""The columns of /proc/stat in which a processor works: user, nice, system, irq, softirq; and steal, the time
that it could have worked, but the host gave it to others."""


class Others:
    """The processor time that others take from now on."""

    def __init__(self, pids: Iterable[int]) -> None:
        """`pids`: the processes that have a part, beside this one and those of its children that end."""
        self._pids = tuple(pids)
        self._began = time.monotonic()
        self._before = machine_seconds() - self._own_seconds()

    def cores(self) -> float:
        """Return how many processors they have kept busy on average; one that is free is not counted."""
        taken = machine_seconds() - self._own_seconds() - self._before
        return max(0.0, taken) / max(0.01, time.monotonic() - self._began)

    def _own_seconds(self) -> float:
        times = os.times()
        ended = times.children_user + times.children_system
        return times.user + times.system + ended + sum(map(process_seconds, self._pids))


def machine_seconds() -> float:
    """Return the processor seconds that all processes have taken since the machine's start.

    Source: Linux, proc(5), /proc/stat.
    """
    columns = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return sum(int(columns[place]) for place in BUSY) / TICKS_PER_SECOND


def process_seconds(pid: int) -> float:
    """Return those of one process, of all its threads; 0 when it has ended.

    Source: Linux, proc(5), /proc/PID/stat.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS_PER_SECOND
