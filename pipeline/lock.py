"""One process per job: an exclusive lock on a file that names its holder.

The lock is the kernel's (flock): it ends with the process, however that ends, and needs no cleaning up.
On a network mount it works between hosts from NFSv4 on.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import JobRunningError


@contextmanager
def job_lock(path: Path, job: str) -> Iterator[None]:
    """Hold the lock at `path` for the block.  Raises: JobRunningError naming the process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise JobRunningError(f"the job {job!r} is running already, as {_holder(path)}") from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
        file.truncate(0)


def running_as(path: Path) -> str | None:
    """Return the process that holds the lock, or None when it is free."""
    if not path.exists():
        return None
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _holder(path)
    return None


def _holder(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() or "a process that is just starting"
