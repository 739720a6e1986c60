"""The notes of a worker, one line for each batch: what it got, said, and was confirmed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

GOT: Final = "got"
SAID: Final = ("accept", "release", "reject")
DONE: Final = "done"
"""What was said of these jobs is durable."""
DIED: Final = "died"
"""The worker is about to be killed by this job."""


class Note(NamedTuple):
    """One line; moments are monotonic seconds of the machine, the same for all its processes."""

    moment: float
    since: float
    """GOT: the jobs came to the worker after this moment."""
    worker: str
    what: str
    jobs: list[int]


class Notebook:
    """A notebook; a line is in the file when `write` returns."""

    def __init__(self, path: Path, worker: str) -> None:
        self._file = path.open("a", buffering=1)
        self._worker = worker

    def write(self, what: str, jobs: Iterable[int], since: float = 0.0) -> None:
        """Write a note with the current time."""
        numbers = ",".join(map(str, jobs))
        if numbers:
            self._file.write(f"{time.monotonic():.6f} {since:.6f} {self._worker} {what} {numbers}\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def notes_of(path: Path) -> Iterator[Note]:
    """Yield the notes of one worker; the last line may be cut, since it was killed."""
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            moment, since, worker, what, numbers = line.split()
            yield Note(float(moment), float(since), worker, what, [int(text) for text in numbers.split(",")])
