"""Blocks that a sequential reader comes to next, asked for before it does.

    a reader goes on from one block to the next        it is sequential: the next ones are asked for
    it keeps on doing so                               twice as many each time, up to `DEPTH_MAX`
    it reads elsewhere, or no more                     what it has not read is dropped after some seconds

A reader is known by its place alone, so two that read the same at one time share what is fetched, and one
that seeks is another one.  A single read asks for nothing ahead.  What is fetched ahead is part of the
cache's memory: all readers together may have half of it, and each a quarter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

Block = tuple[str, int]
"""An object's key, and the number of a block in it."""

Following = Callable[[str], tuple[str, int] | None]
"""Return key and size of the object that is read after this one; None if that is not known."""

DEPTH_MAX: Final = 4
"""The blocks ahead of one reader: 16 MiB on the way give 160 MB/s from a store that takes 0.1 s."""

RUNS_MAX: Final = 256
"""The readers that are remembered; the one that has not read for longest is forgotten."""

IDLE_TICKS: Final = 10
"""A reader that has read nothing for so many half seconds has gone, or is somewhere else."""


class Ahead(NamedTuple):
    """A block that is to be fetched ahead."""

    block: Block
    size_bytes: int


class Blocks(Protocol):
    """The cache, as far as it is asked for blocks here."""

    block_bytes: int
    limit_bytes: int

    def fetch_ahead(self, block: Block, size_bytes: int) -> bool:
        """Ask for a block, unless it is there, on its way, or has to wait; return whether that is done."""

    def drop_ahead(self, block: Block) -> None:
        """Drop a block that was not read."""


class _Run:
    """One reader."""

    __slots__ = ("ahead", "at", "depth", "idle", "next", "reads", "seen")

    def __init__(self, at: Block) -> None:
        self.at = at
        self.next: Block | None = None
        self.depth = 0
        self.ahead: set[Block] = set()
        self.reads = self.seen = self.idle = 0


class ReadAhead:
    """The readers of one cache."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._at: dict[Block, _Run] = {}
        self._next: dict[Block, _Run] = {}

    @property
    def unread_count(self) -> int:
        """The number of blocks that were asked for and not read yet."""
        return sum(len(run.ahead) for run in self._at.values())

    def touch(self, block: Block, object_bytes: int, following: Following) -> None:
        """Note that a reader reads a block; ask for what it will want if it is sequential."""
        run = self._at.pop(block, None)
        if run is not None:
            self._at[block] = run  # the newest again
            run.reads += 1
            return
        run = self._next.pop(block, None)
        if run is None or self._at.get(run.at) is not run:
            run = _Run(block)
        else:
            del self._at[run.at]
            run.depth = min(max(1, 2 * run.depth), self._depth_max)
            run.at = block
        run.reads += 1
        run.ahead.discard(block)
        self._at[block] = run
        self._look_ahead(run, object_bytes, following)
        if len(self._at) > RUNS_MAX:
            self._drop(next(iter(self._at.values())))

    @property
    def _depth_max(self) -> int:
        return min(DEPTH_MAX, self._blocks.limit_bytes // 4 // self._blocks.block_bytes)

    def _look_ahead(self, run: _Run, object_bytes: int, following: Following) -> None:
        room = self._blocks.limit_bytes // 2 // self._blocks.block_bytes - self.unread_count
        key, number = run.at
        run.next = None
        for _ in range(max(1, run.depth)):
            number += 1
            if number * self._blocks.block_bytes >= object_bytes:
                found = following(key)
                if found is None:
                    break
                (key, object_bytes), number = found, 0
            block = key, number
            if run.next is None:
                run.next = block
                self._next[block] = run
            if not run.depth or block in run.ahead or room <= 0:
                continue
            size_bytes = min(self._blocks.block_bytes, object_bytes - number * self._blocks.block_bytes)
            if self._blocks.fetch_ahead(block, size_bytes):
                run.ahead.add(block)
                room -= 1

    def _drop(self, run: _Run) -> None:
        """Forget a reader, and what it has not read."""
        del self._at[run.at]
        if run.next is not None and self._next.get(run.next) is run:
            del self._next[run.next]
        for block in run.ahead:
            if block not in self._at:
                self._blocks.drop_ahead(block)

    def tick(self) -> bool:
        """Drop what readers have left; return whether there is still something unread.

        It is called each half second as long as that is so.
        """
        for run in list(self._at.values()):
            run.idle = run.idle + 1 if run.reads == run.seen else 0
            run.seen = run.reads
            if run.idle >= IDLE_TICKS and run.ahead:
                self._drop(run)
        return self.unread_count > 0
