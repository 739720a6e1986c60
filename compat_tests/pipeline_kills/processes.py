"""The processes of pipeline jobs that are to be broken."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compat_tests.kawal_broker import KAWAL


@contextmanager
def running(job: Path, action: str = "run") -> Iterator[subprocess.Popen[str]]:
    """Run a job, or audit it, in a process group of its own; it is killed at the end of the block."""
    with subprocess.Popen(
        [KAWAL, "pipe", action, str(job), *(["--log", "json"] if action == "run" else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
