"""The time of the records of the tests, and a yardstick for times on any machine."""

from __future__ import annotations

import subprocess
import sys
import time

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
