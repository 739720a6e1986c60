"""The time of the records of the tests, and a yardstick for times on any machine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

START_MS = int(time.time()) * 1_000 - 3_600_000
"""An hour ago: records older than a week would be deleted when a broker checks their retention."""


def yardstick_seconds() -> float:
    """Return how long an interpreter takes at best to start, import trio and end: 0.13 to 0.3 s.

    Machines differ by a factor of two, and so does one machine from day to day: a start is judged by this.
    """
    took = []
    for _ in range(6):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "import trio"], check=True, timeout=60)
        took.append(time.monotonic() - began)
    return min(took)


def quickest(attempt: Callable[[], float], *, below_seconds: float, attempts: int = 6) -> float:
    """Return the first time of several attempts that lies below a limit, or fail with all of them.

    A machine that stops a process for a while makes one attempt late, or two; what is slow by itself, or
    waits for what it should not wait for, is late every time.
    """
    took: list[float] = []
    for _ in range(attempts):
        took.append(attempt())
        if took[-1] < below_seconds:
            return took[-1]
    raise AssertionError(f"each of {attempts} attempts took {below_seconds} s or more: {took}")


def seconds_of(action: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.monotonic()
    action()
    return time.monotonic() - began
