"""Spark's checkpoint folder, as far as it describes a query.

    metadata        {"id":"…"}                      made once, lives as long as the folder
    sources/0/0     v1 ⏎ positions                  where the first batch begins
    offsets/BATCH   v1 ⏎ {…} ⏎ positions            where the batch ends: written before it is processed
    commits/BATCH   v1 ⏎ {…}                        written after it

Positions are JSON, `{"flights":{"0":14299}}`. The range of a batch is thus fixed before a record of it is
read, and is the same after a crash: from the previous batch's positions (or the first) to its own.
Source: Spark 4.2, OffsetSeqLog, CommitLog, KafkaSourceInitialOffsetWriter.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TypeVar

import msgspec

from pipeline.errors import LedgerError
from pipeline.positions import Positions, Range, ranges_between

Kind = TypeVar("Kind")


class Checkpoint:
    """The checkpoint folder of one query, read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def query_id(self) -> str:
        """Return the id that the query keeps as long as its checkpoint lives."""
        found = self._json(self.folder / "metadata", line=0, kind=dict[str, str])
        return found["id"]

    def last_planned(self) -> int:
        """Return the last batch whose range is fixed, or -1."""
        return _last(self.folder / "offsets")

    def last_committed(self) -> int:
        """Return the last batch that Spark knows is done, or -1."""
        return _last(self.folder / "commits")

    def topics(self) -> set[str]:
        """Return the topics of the last batch that was planned; there must be one."""
        return set(self.positions_after(self.last_planned()))

    def positions_before(self, batch_id: int) -> Positions:
        """Return the positions at which `batch_id` begins."""
        if batch_id == 0:
            return self._json(self.folder / "sources" / "0" / "0", line=1, kind=Positions)
        return self.positions_after(batch_id - 1)

    def positions_after(self, batch_id: int) -> Positions:
        """Return the positions at which `batch_id` ends."""
        return self._json(self.folder / "offsets" / str(batch_id), line=2, kind=Positions)

    def ranges(self, batch_id: int) -> list[Range]:
        """Return the ranges of `batch_id` that hold an offset, in order; a new partition begins at 0."""
        return ranges_between(self.positions_before(batch_id), self.positions_after(batch_id))

    def _json(self, path: Path, *, line: int, kind: type[Kind]) -> Kind:
        try:
            return msgspec.json.decode(path.read_text(encoding="utf-8").splitlines()[line], type=kind)
        except (OSError, IndexError, msgspec.DecodeError) as error:
            raise LedgerError(
                f"{path} of Spark's checkpoint cannot be read: {error}; move {self.folder} away, and the job "
                "continues where its table ends"
            ) from error


def set_aside(folder: Path) -> None:
    """Move a checkpoint out of the way, in place of one moved before: its job continues where its table
    ends."""
    aside = folder.with_name(f"{folder.name}.before")
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)


def _last(folder: Path) -> int:
    numbers = [int(path.name) for path in folder.glob("*") if path.name.isdigit()]
    return max(numbers, default=-1)
