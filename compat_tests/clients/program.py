"""The tests' side of the contract in README.md: one running program, asked one thing at a time."""

from __future__ import annotations

import errno
import json
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from compat_tests.waiting import eventually

ROOT = Path(__file__).parent.parent.parent

ANSWER_WITHIN_SECONDS = 200
"""Above what programs wait themselves, which is 60 s for each of some steps: their own account says more."""

PROGRESS_WITHIN_SECONDS = 45
"""Below what programs wait: the one that lags is named before the others lose patience."""


STARTS = 4
"""How often a start is tried, see `_started`."""


class CannotError(Exception):
    """The client under test has no such thing; the text says why."""


class Program:
    """A client program. Its standard error goes to a file, the end of which is shown with a failure."""

    def __init__(self, name: str, command: Sequence[str], log_path: Path) -> None:
        """Start it."""
        assert Path(command[0]).exists(), f"no {command[0]}: run 'make clients'"
        self.name = name
        self.progress = 0
        """The last report of the program on the request it works on."""
        self._log_path = log_path
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with log_path.open("wb") as log:
            self._process = _started(command, log)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def begin(self, operation: str, **fields: Any) -> None:
        """Send a request."""
        self.progress = 0
        assert self._process.stdin is not None
        # `answer` reports a program that has ended.
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"operation": operation, **fields}).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for the answer to the last request.

        Raises: CannotError when the client has no such thing; AssertionError with the program's account
        when it failed, ended or kept silent.
        """
        try:
            line = self._answers.get(timeout=ANSWER_WITHIN_SECONDS)
        except queue.Empty:
            raise AssertionError(self._account("did not answer")) from None
        if "cannot" in line:
            raise CannotError(line["cannot"])
        assert "ok" in line, self._account(line["error"])
        return line["ok"]

    def ask(self, operation: str, **fields: Any) -> Any:
        """Send a request and wait for its answer; raises as `answer` does."""
        self.begin(operation, **fields)
        return self.answer()

    def wait_for_progress(self, count: int) -> None:
        """Wait until this much is done, or until the program has answered."""
        eventually(
            lambda: self.progress >= count or not self._answers.empty(),
            waiting_for=f"{self.name} to do {count} (it reported {self.progress})",
            within_seconds=PROGRESS_WITHIN_SECONDS,
        )

    def close(self) -> None:
        """Close standard input, which ends the program; kill it if that does not."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._reader.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                said = json.loads(line)
            except ValueError as error:
                part = line if len(line) <= 400 else line[:200] + b" ... " + line[-200:]
                said = {"error": f"printed {len(line)} bytes that are not JSON ({error}): {part!r}"}
            if "progress" in said:
                self.progress = said["progress"]
            else:
                self._answers.put(said)
        self._answers.put({"error": "ended"})

    def _account(self, problem: str) -> str:
        log = self._log_path.read_text(errors="replace")[-3_000:]
        return f"{self.name} (exit code {self._process.poll()}): {problem}\nits log ends:\n{log}"


def _started(command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a program; a kernel that could not fill a page of it is asked again.

    execve answers EFAULT, and no better error, when the last page of the program's data could not be read
    just then.  One start in many thousands met it, on a machine with more to do than it has cores.
    """
    left = STARTS
    while True:
        left -= 1
        try:
            return subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        except OSError as error:
            if error.errno != errno.EFAULT or not left:
                raise
            time.sleep(1)
