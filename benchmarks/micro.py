"""Timing of small functions: the best of several batches of calls, which noise affects least."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

BATCH_SECONDS = 0.02
BATCHES = 15


def microseconds(function: Callable[[], Any]) -> float:
    """Return the time of one call: the fastest of 15 batches of about 20 ms."""
    count = 1
    while (taken := _batch(function, count)) < BATCH_SECONDS:
        count = max(count + 1, int(count * min(10.0, 1.2 * BATCH_SECONDS / max(taken, 1e-9))))
    return min(_batch(function, count) for _ in range(BATCHES)) / count * 1e6


def _batch(function: Callable[[], Any], count: int) -> float:
    calls = range(count)
    started = time.perf_counter()
    for _ in calls:
        function()
    return time.perf_counter() - started
