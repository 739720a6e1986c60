"""The notes of a worker, one line each: a moment, a member's life, a partition and offsets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

GOT: Final = "got"
COMMITTED: Final = "committed"


class Note(NamedTuple):
    """One line."""

    moment: float
    """Monotonic seconds of the machine, the same for all its processes."""
    life: str
    what: str
    partition: int
    first: int
    """GOT: the first offset. COMMITTED: the next one to read."""
    last: int
    """GOT: the last offset of an unbroken run."""
    since: float
    """GOT: a moment before the member was given the partition, and so before it asked where to begin.
    COMMITTED: before it asked for the commit."""


class Notebook:
    """A notebook for the threads of one process; a line is in the file when `write` returns."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._lock = Lock()

    def write(self, life: str, what: str, partition: int, first: int, last: int, since: float) -> None:
        """Write a note with the current time."""
        with self._lock:
            moment = time.monotonic()
            self._file.write(f"{moment:.6f} {life} {what} {partition} {first} {last} {since:.6f}\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def notes_of(path: Path) -> Iterator[Note]:
    """Yield the notes of one process; the last line may be cut, since it was killed."""
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            moment, life, what, partition, first, last, since = line.split()
            yield Note(float(moment), life, what, int(partition), int(first), int(last), float(since))
