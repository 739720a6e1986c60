"""The file of the audit log: JSON lines, begun anew when it is full; a failed write leaves whole lines.

    audit.log  →  audit.log.1  →  audit.log.2  →  …            the last of `count` older ones is removed

Of several workers each has a file of its own, which it alone moves on: one that hangs or dies, be it in the
middle of a line, keeps no other from writing.

    audit.log   audit.log.worker-1   audit.log.worker-2   …

A file that someone else has moved away (logrotate) is noticed before the next write, and made again.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
"""Without O_NONBLOCK, opening a pipe would wait for its reader; a link could lead to any file."""

MODE: Final = 0o600


WORKER: Final = ".worker-"


def path_of_worker(path: str, number: int) -> str:
    """Return the path of the file of the worker of this number; the first one's is the path itself."""
    return f"{path}{WORKER}{number}" if number else path


def paths_of_workers(path: str) -> list[str]:
    """Return the path, and those of other workers that there are, or were, by their number."""
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        names = []
    # An older file is that of a worker, too, when the newest one has been moved away.
    found = (
        re.fullmatch(rf"{re.escape(name)}{re.escape(WORKER)}([1-9]\d{{0,8}})(\.\d+)?", each) for each in names
    )
    numbers = {int(match[1]) for match in found if match}
    return [path, *(path_of_worker(path, number) for number in sorted(numbers))]


class AuditFile:
    """An open file; used by one thread at a time."""

    def __init__(self, path: str, *, max_bytes: int, count: int, sync: bool) -> None:
        """Open the file.  Raises: OSError."""
        self.path = path
        self._max_bytes = max_bytes
        self._count = count
        self._sync = sync
        self._descriptor = -1
        self._size_bytes = 0
        self._open()

    def write(self, lines: Iterable[bytes]) -> None:
        """Append lines, and sync them if that is asked for.

        Raises: OSError; none of the lines is in the file, unless it could not even be cut.
        """
        data = b"".join(lines)
        if not self._is_ours():
            self.close()
            self._open()
        if self._size_bytes and self._size_bytes + len(data) > self._max_bytes:
            self._rotate()
        try:
            _write_all(self._descriptor, data)
            if self._sync:
                os.fdatasync(self._descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size_bytes)
            self.close()
            raise
        self._size_bytes += len(data)

    def close(self) -> None:
        """Close the file; the next write opens it again."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def _open(self) -> None:
        descriptor = os.open(self.path, FLAGS, MODE)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(0, "it is not a regular file", self.path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise OSError(error.errno, "another process writes it", self.path) from error
            if found.st_size and os.pread(descriptor, 1, found.st_size - 1) != b"\n":
                # The machine has crashed in the middle of a line.
                _write_all(descriptor, b"\n")
            self._size_bytes = os.fstat(descriptor).st_size
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def _is_ours(self) -> bool:
        """Whether the path still leads to the open file."""
        if self._descriptor < 0:
            return False
        try:
            there = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        here = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def _rotate(self) -> None:
        """Begin a new file, and move the older ones on."""
        self.close()
        for number in range(self._count - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(f"{self.path}.{number}", f"{self.path}.{number + 1}")
        os.replace(self.path, f"{self.path}.1")
        self._open()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def line_of(event: dict[str, Any]) -> bytes:
    """Return an event as a line of JSON, without any character that a terminal would obey."""
    time_ms = event["time_ms"]
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time_ms / 1000))
    rest = {name: value for name, value in event.items() if name != "time_ms"}
    text = json.dumps({"time": f"{seconds}.{time_ms % 1000:03}Z", **rest}, default=str)
    return text.replace("\x7f", "\\u007f").encode() + b"\n"
