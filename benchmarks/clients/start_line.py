"""The start line: a load gets ready, says so, and begins when it is told to."""

from __future__ import annotations

import sys

from benchmarks.clients.jobs import READY, LoadError


def wait_for_start_line() -> None:
    """Print the ready line and wait for a newline on standard input.

    Raises: LoadError if standard input ends instead, as it does when the benchmark was stopped.
    """
    print(READY, flush=True)
    if not sys.stdin.readline():
        raise LoadError("standard input ended before the start")
