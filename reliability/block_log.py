"""The log of a block device, and the states that a power failure at any moment may leave of it.

    ... flush | write write write  (power fails)
    certain   | each of them: written, not written, or some of its sectors

What was written before the last flush is certain.  The writes after it may have reached the medium in any
order: some are chosen, and a chosen one may be torn between two sectors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from reliability.block_plugin import FLUSH, RECORD, WRITE

SECTOR_BYTES: Final = 512
TORN_CHANCE: Final = 0.1
KEPT_CHANCES: Final = (0.0, 0.1, 0.5, 0.9, 1.0)
"""The shares of unflushed writes that survive; one is chosen for each power failure."""


class BlockOp(NamedTuple):
    """A write, or a flush (then without a place)."""

    is_flush: bool
    time_ns: int
    position: int
    size_bytes: int
    data_position: int
    """The place of the bytes in the log."""


def read_block_log(path: Path) -> Iterator[BlockOp]:
    """Yield the operations in a log; an incomplete last one is left out."""
    size = path.stat().st_size
    with path.open("rb") as file:
        place = 0
        while place + RECORD.size <= size:
            file.seek(place)
            kind, time_ns, position, size_bytes = RECORD.unpack(file.read(RECORD.size))
            if kind not in (WRITE, FLUSH):
                raise ValueError(f"{path}: no record at byte {place}")
            place += RECORD.size
            if place + size_bytes > size:
                return
            yield BlockOp(kind == FLUSH, time_ns, position, size_bytes, place)
            place += size_bytes


class Failure(NamedTuple):
    """A power failure: the state before it is in the image, `summary` says what was chosen."""

    time_ns: int
    """What was acknowledged before this moment must survive."""
    summary: str


class PowerFailures:
    """The images after power failures, at moments in ascending order, in one file `image`."""

    def __init__(self, log: Path, image: Path, size_bytes: int) -> None:
        self._ops = list(read_block_log(log))
        self._log = os.open(log, os.O_RDONLY)
        self._certain = image.with_suffix(".certain")
        self._image = image
        with self._certain.open("wb") as file:
            file.truncate(size_bytes)
        self._applied = 0

    def __len__(self) -> int:
        return len(self._ops)

    def after(self, time_ns: int) -> int:
        """Return the number of operations before a moment."""
        return sum(op.time_ns < time_ns for op in self._ops)

    def fail(self, at: int, random: Random) -> Failure:
        """Write the image of a failure right before operation `at`, which is not below the last call's."""
        flushes = (number for number in range(at - 1, self._applied - 1, -1) if self._ops[number].is_flush)
        last_flush = next(flushes, self._applied - 1)
        self._apply(range(self._applied, last_flush + 1))
        self._applied = last_flush + 1
        copy_sparsely(self._certain, self._image)
        pending = range(self._applied, at)
        chance = random.choice(KEPT_CHANCES)
        kept = torn = 0
        with self._image.open("r+b", buffering=0) as file:
            for number in pending:
                if self._ops[number].is_flush or random.random() >= chance:
                    continue
                kept += 1
                torn += self._write(file.fileno(), self._ops[number], random, chance)
        summary = (
            f"before operation {at}: {kept} of {len(pending)} unflushed writes kept, {torn} of them torn"
        )
        return Failure(self._ops[at].time_ns, summary)

    def _apply(self, numbers: range) -> None:
        with self._certain.open("r+b", buffering=0) as file:
            for number in numbers:
                op = self._ops[number]
                if not op.is_flush:
                    os.pwrite(file.fileno(), self._data(op), op.position)

    def _write(self, descriptor: int, op: BlockOp, random: Random, chance: float) -> int:
        """Write all of an operation, or some of its sectors; return 1 if it is torn."""
        data = self._data(op)
        sectors = op.size_bytes // SECTOR_BYTES
        if chance == 1.0 or sectors < 2 or random.random() >= TORN_CHANCE:
            os.pwrite(descriptor, data, op.position)
            return 0
        for sector in range(sectors):
            if random.random() < 0.5:
                start = sector * SECTOR_BYTES
                os.pwrite(descriptor, data[start : start + SECTOR_BYTES], op.position + start)
        return 1

    def _data(self, op: BlockOp) -> bytes:
        return os.pread(self._log, op.size_bytes, op.data_position)

    def close(self) -> None:
        """Remove the files."""
        os.close(self._log)
        self._certain.unlink()
        self._image.unlink(missing_ok=True)


def copy_sparsely(source: Path, target: Path) -> None:
    """Copy a file; holes stay holes."""
    with source.open("rb", buffering=0) as file, target.open("wb", buffering=0) as copy:
        size, position = os.fstat(file.fileno()).st_size, 0
        copy.truncate(size)
        while position < size:
            try:
                start = os.lseek(file.fileno(), position, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                return
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            os.lseek(copy.fileno(), start, os.SEEK_SET)
            while start < end:
                start += os.sendfile(copy.fileno(), file.fileno(), start, min(end - start, 1 << 30))
            position = end
