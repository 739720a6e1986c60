"""The processes in which the console's searches run (console/web/search_worker.py), each one job at a time.

A process is started when a search finds none that is free, and kept for the next one until it ends by itself.
One that does not end its search when it is told to is killed: no statement, and no machine that is busy with
other things, can keep a page from its answer.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Protocol

from console.errors import CommandError
from console.web.search_bounds import Bounds
from console.web.search_job import LEAVE, Job, result_of, unpacked

PROCESSES_MAX: Final = 4
"""Searches at once, of 40 MB each; further ones wait, within the time of their page."""
LOOK_SECONDS: Final = 0.05
"""How often a page that waits for its search looks whether it is still wanted."""
LEAVE_SECONDS: Final = 2.0
"""The time that a search has to end when it is told to."""


class SearchProcess(Protocol):
    """A process that searches, and the connection to it."""

    connection: Connection

    def kill(self) -> None:
        """End it at once."""


class Started:
    """A process that has been started."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        packages = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))
        with theirs:
            # -P: not the folder in which the console was started, which may have packages of these names.
            command = [sys.executable, "-P", "-m", "console.web.search_worker", str(theirs.fileno())]
            self._process = subprocess.Popen(  # noqa: S603  (this interpreter)
                command,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                pass_fds=[theirs.fileno()],
            )
        self.connection = Connection(ours.detach())
        # It may end by itself, and nothing of it is to be left then.
        threading.Thread(target=self._process.wait, name="search process", daemon=True).start()

    def kill(self) -> None:
        """End it at once."""
        self.connection.close()
        self._process.kill()


class SearchProcesses:
    """The processes there are; used by threads."""

    def __init__(self, start: Callable[[], SearchProcess] = Started) -> None:
        self._start = start
        self._free: list[SearchProcess] = []
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(PROCESSES_MAX)

    def run(self, job: Job) -> Any:
        """Return the result of a job.

        Raises: its CommandError, and one when it was ended from outside and had nothing to tell by then.
        """
        with self._turn(job.bounds):
            while True:
                process, is_new = self._take()
                try:
                    outcome = _asked(process, job)
                except (EOFError, OSError) as error:
                    process.kill()
                    if is_new:
                        raise CommandError("the process of the search has ended: search again") from error
                    continue  # it had ended for want of work
                except BaseException:
                    process.kill()
                    raise
                with self._lock:
                    self._free.append(process)
                return result_of(outcome)

    @contextmanager
    def _turn(self, bounds: Bounds) -> Iterator[None]:
        while not self._turns.acquire(timeout=LOOK_SECONDS):
            if bounds.left:
                raise CommandError("the search was stopped before its turn came")
        try:
            yield
        finally:
            self._turns.release()

    def _take(self) -> tuple[SearchProcess, bool]:
        with self._lock:
            if self._free:
                return self._free.pop(), False
        return self._start(), True


def _asked(process: SearchProcess, job: Job) -> Any:
    """Send a job and return its outcome.  Raises: EOFError or OSError when the process has ended."""
    connection = process.connection
    connection.send_bytes(pickle.dumps(job))
    left_at: float | None = None
    while not connection.poll(LOOK_SECONDS):
        if not job.bounds.left:
            continue
        if left_at is None:
            left_at = time.monotonic()
            with suppress(OSError):
                connection.send_bytes(pickle.dumps(LEAVE))
        elif time.monotonic() > left_at + LEAVE_SECONDS:
            raise CommandError("the search was stopped")
    return unpacked(connection.recv_bytes())
