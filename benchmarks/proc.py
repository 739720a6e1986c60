"""The cost of a server, read from /proc: CPU time and memory of the process and its children."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
CORES = os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Resident memory of a process tree."""

    resident_bytes: int
    peak_bytes: int
    """The sum of each process's own peak."""


def tree(pid: int) -> list[int]:
    """Return the process and all its living descendants."""
    found = [pid]
    for member in found:
        for listing in PROC.glob(f"{member}/task/*/children"):
            found += [int(child) for child in listing.read_text().split()]
    return found


def cpu_seconds(pid: int) -> float:
    """Return user and system time of all threads of the tree, and of its children that have ended."""
    return sum(_cpu_ticks(member) for member in tree(pid)) / TICKS_PER_SECOND


def _cpu_ticks(pid: int) -> int:
    # The name, in parentheses, may hold spaces; utime, stime, cutime and cstime are fields 14 to 17.
    after_name = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in after_name[11:15])


def run_seconds(pid: int) -> float:
    """Return the time all living threads of one process have run, to the nanosecond.

    For times too short for `cpu_seconds`, which counts hundredths; ended threads are left out.
    Source: Linux, Documentation/scheduler/sched-stats.rst.
    """
    return (
        sum(
            int((thread / "schedstat").read_text().split()[0])
            for thread in (PROC / str(pid) / "task").iterdir()
        )
        / 1e9
    )


class ThreadTimes(NamedTuple):
    """CPU seconds of a process by where they were spent."""

    main_user: float
    main_system: float
    others_user: float
    others_system: float


def thread_times(pid: int) -> ThreadTimes:
    """Return the CPU time of the main thread and of all other living threads of one process."""
    seconds = [0.0] * 4
    for thread in (PROC / str(pid) / "task").iterdir():
        fields = (thread / "stat").read_text().rpartition(")")[2].split()
        first = 0 if thread.name == str(pid) else 2
        seconds[first] += int(fields[11]) / TICKS_PER_SECOND
        seconds[first + 1] += int(fields[12]) / TICKS_PER_SECOND
    return ThreadTimes(*seconds)


def memory(pid: int) -> Memory:
    """Return the resident memory of the tree now and at its highest."""
    totals = {"VmRSS": 0, "VmHWM": 0}
    for member in tree(pid):
        for line in (PROC / str(member) / "status").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in totals:
                totals[name] += int(rest.split()[0]) * 1_024
    return Memory(resident_bytes=totals["VmRSS"], peak_bytes=totals["VmHWM"])


def machine_cpu_seconds() -> float:
    """Return the time all cores have been busy since boot, for any reason, theft by the host included."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = (
        int(field) for field in (PROC / "stat").read_text().splitlines()[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND


def own_cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
