"""A server process under test: started as a user would, its output kept in a file, ended by its pid."""

from __future__ import annotations

import atexit
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGKILL, SIGTERM

from compat_tests.waiting import PATIENCE_SECONDS, eventually

TAIL_BYTES = 3_000
"""The part of a server's output that a failure shows: enough for a Java stack trace with its cause."""


def queued_seconds(pid: int) -> float:
    """Return how long a process's first thread waited for a core: what a busy machine adds to its times.

    Source: Linux, Documentation/scheduler/sched-stats.rst: running ns, waiting ns, time slices.
    """
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


class ServerProcess:
    """One running process. Standard output and error go to one file, which survives restarts."""

    def __init__(self, command: Sequence[str], *, log_path: Path, environment: Mapping[str, str]) -> None:
        """Start `command`; its output is appended to `log_path`."""
        self.command = list(command)
        self.log_path = log_path
        self._log_start = log_path.stat().st_size if log_path.exists() else 0
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
            )
        atexit.register(self._end)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._process.poll()

    def queued_seconds(self) -> float:
        """Return how long the process has been ready to run while other processes had the cores."""
        return queued_seconds(self.pid)

    def output(self) -> str:
        """Return everything this process has written so far."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def tail(self) -> str:
        """Return the end of the output, headed by the command and the exit code."""
        text = self.output()[-TAIL_BYTES:]
        return f"{' '.join(self.command[:1] + self.command[-6:])} (exit code {self.exit_code}):\n{text}"

    def wait_for_line(self, start: str, *, within_seconds: float = PATIENCE_SECONDS) -> str:
        """Wait for a whole line beginning with `start` and return it; fail at once when the process ends."""

        def found_or_ended() -> str:
            ended = self.exit_code is not None
            whole_lines = self.output().split("\n")[:-1]
            found = next((line for line in whole_lines if line.startswith(start)), "")
            return self._fail(f"ended before it printed {start!r}") if ended and not found else found

        return eventually(found_or_ended, waiting_for=repr(start), within_seconds=within_seconds)

    def terminate(self, *, within_seconds: float) -> tuple[int, float]:
        """Send SIGTERM and wait; return the exit code and the seconds it took."""
        started = time.monotonic()
        if self.exit_code is None:
            self._process.send_signal(SIGTERM)
        try:
            code = self._process.wait(within_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            self._fail(f"did not end within {within_seconds} s of SIGTERM")
        return code, time.monotonic() - started

    def kill(self) -> None:
        """Send SIGKILL and wait: what a power cut leaves of the process, the page cache aside."""
        if self.exit_code is None:
            self._process.send_signal(SIGKILL)
        self._process.wait(60)

    def _end(self) -> None:
        """Leave nothing running when the test session ends without its fixtures."""
        if self.exit_code is None:
            self.kill()

    def _fail(self, problem: str) -> str:
        raise AssertionError(f"process {self.pid} {problem}\n{self.tail()}")
