"""Waiting for a condition with a deadline; no test of this folder sleeps for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_INTERVAL_SECONDS = 0.02

PATIENCE_SECONDS = 60.0
"""The limit for what takes a second at most: a busy machine stops a process for seconds now and then."""


def eventually(
    condition: Callable[[], T | None],
    *,
    waiting_for: str,
    within_seconds: float = PATIENCE_SECONDS,
    last: Callable[[], object] | None = None,
) -> T:
    """Call `condition` until its answer is true and return that answer; fail naming what was waited for.

    `last` tells what there was instead; without it, the failure shows the last answer.
    """
    deadline = time.monotonic() + within_seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            found = answer if last is None else last()
            raise AssertionError(f"waited {within_seconds} s for {waiting_for}; last answer {found!r}")
        time.sleep(POLL_INTERVAL_SECONDS)
