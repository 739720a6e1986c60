"""A worker's process as its parent sees it: forked, heard through a pipe, and ended with its parent.

ready HOST:PORT    it answers clients
failed SENTENCE    it cannot start
console URL        its web console is there
alive              a sign of life
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from broker.server.listeners import StartError
from broker.server.notify import VARIABLE
from wal.disk_errors import DiskError
from wal.errors import StoreError

logger = logging.getLogger("kawal.server")

PR_SET_PDEATHSIG: Final = 1

TAKEN: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD})
"""The signals that the parent acts on."""

PARTS_BYTES: Final = 4096

Tell = Callable[[str], None]
"""Sends a line to the parent."""


class Child:
    """A running worker."""

    def __init__(self, number: int, pid: int, pipe: int) -> None:
        self.number = number
        self.pid = pid
        self.pipe = pipe
        self.began = time.monotonic()
        self.ready = False
        self.alive = False
        """Whether it has given a sign of life since all were last found alive."""
        self.failure = ""
        """The reason why it could not start."""
        self.is_over = False
        """Whether it ends because it can acknowledge nothing more."""
        self._partial = b""

    def lines(self) -> list[str]:
        """Return what it has said since the last call."""
        with suppress(BlockingIOError):
            while part := os.read(self.pipe, PARTS_BYTES):
                self._partial += part
        *whole, self._partial = self._partial.split(b"\n")
        return [line.decode(errors="replace") for line in whole]

    def send(self, number: int) -> None:
        """Send a signal; it has not been waited for, so the number is still its own."""
        os.kill(self.pid, number)

    def ended(self) -> int | None:
        """Return its exit status, negative for a signal, if it has ended; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.pipe)


def fork(number: int, work: Callable[[Tell], int]) -> Child:
    """Start a worker that does `work` and ends with the exit status which that returns."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    parent = os.getpid()
    # Until the child has put its own in place, a signal would come to the parent's handlers in it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TAKEN)
    pid = os.fork()
    if not pid:
        status = 1
        try:
            _begin(parent, before)
            status = _live(number, work, writing)
        finally:
            os._exit(status)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(writing)
    return Child(number, pid, reading)


def _begin(parent: int, mask: Iterable[int]) -> None:
    """Make the process a worker: it ends with its parent, which alone takes the signals of a terminal."""
    # The kernel ends it even if it hangs; its next start recovers what a clean end would have saved.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    for number in TAKEN:
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    # The parent alone talks to systemd.
    for name in (VARIABLE, "WATCHDOG_USEC", "WATCHDOG_PID"):
        os.environ.pop(name, None)


def _live(number: int, work: Callable[[Tell], int], pipe: int) -> int:
    """Do the work, and return the exit status; an error is told to the parent, or logged."""

    def tell(line: str) -> None:
        # Signs of life may be lost; the parent reads the rest long before a pipe is full.
        with suppress(BlockingIOError):
            os.write(pipe, line.replace("\n", " ").encode() + b"\n")

    _name_in_log(number)
    try:
        return work(tell)
    except (StartError, StoreError, DiskError) as error:
        tell(f"failed {error}")
        return 1
    except BaseException:
        logger.critical("this worker ends because of an internal error", exc_info=True)
        return 1
    finally:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()


def _name_in_log(number: int) -> None:
    """Have each line of the log say which worker has written it."""
    make = logging.getLogRecordFactory()

    def make_named(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        record.worker = number
        return record

    logging.setLogRecordFactory(make_named)


def end_in_words(status: int) -> str:
    """Return how a process ended, by its exit status."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
