"""Long work in steps, with its progress on standard error: on a terminal one line that changes, else a line
every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Final

from wal.backup import Progress

TERMINAL_SECONDS: Final = 0.2
FILE_SECONDS: Final = 10.0

WAIT_SECONDS: Final = 0.001
"""The pause when a step waits for the clock, which has to move on by a millisecond."""


def drive(steps: Iterable[Progress], *, rate_bytes: int = 0) -> float:
    """Do all steps; return the seconds they took.  `rate_bytes` a second are copied at most, 0: no limit."""
    began = time.monotonic()
    terminal = sys.stderr.isatty()
    shown = began if not terminal else 0.0
    for progress in steps:
        now = time.monotonic()
        if now - shown >= (TERMINAL_SECONDS if terminal else FILE_SECONDS):
            shown = now
            _show(progress, terminal=terminal)
        if progress.phase == "waiting":
            time.sleep(WAIT_SECONDS)
        elif rate_bytes and progress.phase == "copying":
            ahead = progress.done_bytes / rate_bytes - (now - began)
            time.sleep(max(0.0, ahead))
    if terminal:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return time.monotonic() - began


def _show(progress: Progress, *, terminal: bool) -> None:
    share = progress.done_bytes * 100 // progress.total_bytes if progress.total_bytes else 100
    text = (
        f"{progress.phase}: {size_text(progress.done_bytes)} of {size_text(progress.total_bytes)} ({share} %)"
    )
    print(f"\r{text}\x1b[K" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)


def size_text(size_bytes: int) -> str:
    """Return a size in words."""
    size, unit = float(size_bytes), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size_bytes} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
