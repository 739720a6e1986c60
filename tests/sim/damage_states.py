"""Every damage state of a small store: sectors (zeroed, stale, swapped), files, bits, truncations.

A state is made when it is asked for, so that a sample of a million costs what it tries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Final, NamedTuple, Protocol

from tests.sim.damage import cut, flipped, put, renamed, without, written
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL

SECTOR_BYTES: Final = 512
STATES_OF_A_BYTE: Final = 9
"""Each of its bits, and the file cut off before it."""


class State(NamedTuple):
    """The name of some damage, and a function that returns the disk with it."""

    what: str
    disk: Callable[[], MemoryDisk]


class Damageable(Protocol):
    """A store, and what its disk was in the middle of its life: sectors of that are stale now."""

    @property
    def disk(self) -> MemoryDisk: ...

    @property
    def earlier(self) -> MemoryDisk: ...


class DamageStates:
    """All states by number: those of sectors and files, then of each file every bit and every length."""

    def __init__(self, store: Damageable) -> None:
        self._disk = store.disk
        self._wide = [*sector_damages(store), *file_damages(store.disk)]
        self._files = written(store.disk)
        sizes = (size * STATES_OF_A_BYTE for _, size in self._files)
        self._starts = list(accumulate(sizes, initial=len(self._wide)))

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def wide(self) -> int:
        """The number of the states of sectors and files, which come first."""
        return self._starts[0]

    def __getitem__(self, number: int) -> State:
        if number < len(self._wide):
            return self._wide[number]
        file = bisect_right(self._starts, number) - 1
        path, size = self._files[file]
        position = number - self._starts[file]
        if position >= size * 8:
            length = position - size * 8
            return State(f"{path} cut at {length}", partial(cut, self._disk, path, length))
        byte, bit = divmod(position, 8)
        what = f"bit {bit} of byte {byte} of {path}"
        return State(what, partial(flipped, self._disk, path, byte, bit))


def sector_damages(store: Damageable) -> Iterator[State]:
    """Yield the states with one sector that is zeroed, is stale, or has changed places with another."""
    disk, earlier = store.disk, store.earlier
    for path, size in written(disk):
        data = disk.contents(path)
        old = earlier.contents(path) if earlier.exists(path) else b""
        sectors = [data[start : start + SECTOR_BYTES] for start in range(0, size, SECTOR_BYTES)]
        for number, sector in enumerate(sectors):
            start = number * SECTOR_BYTES
            zeros = bytes(len(sector))
            yield State(f"sector at {start} of {path} zeroed", partial(put, disk, path, start, zeros))
            stale = old[start : start + SECTOR_BYTES]
            if stale and stale != sector:
                yield State(f"sector at {start} of {path} stale", partial(put, disk, path, start, stale))
            for other, content in enumerate(sectors[:number]):
                if content != sector and len(content) == len(sector):
                    place = other * SECTOR_BYTES
                    what = f"sectors at {place} and {start} of {path} swapped"
                    yield State(what, partial(put, disk, path, place, sector, start, content))


def file_damages(disk: MemoryDisk) -> Iterator[State]:
    """Yield the states with a file that is missing, has a twin, or has changed places with another."""
    paths = [path for path, _ in written(disk)]
    for path in paths:
        yield State(f"{path} is missing", partial(without, disk, path))
        directory, _, name = path.rpartition("/")
        for twin in twins(name):
            contents = {f"{directory}/{twin}": path, path: path}
            yield State(f"{path} doubled as {twin}", partial(renamed, disk, contents))
        for other in paths:
            if other > path and other.rpartition(".")[2] == path.rpartition(".")[2]:
                swap = {path: other, other: path}
                yield State(f"{path} and {other} have changed places", partial(renamed, disk, swap))


def directory_damages(disk: MemoryDisk) -> Iterator[State]:
    """Yield the states with a directory that has lost all its files."""
    for directory in sorted({path.rpartition("/")[0] for path, _ in written(disk)}):
        what = f"all files of {directory}/, .wal and others, are missing"
        yield State(what, partial(_emptied, disk, directory))


def _emptied(disk: MemoryDisk, directory: str) -> MemoryDisk:
    after = disk.crash(KEEP_ALL)
    for name in after.list(directory):
        if after.exists(path := f"{directory}/{name}") and path in after.files():
            after.remove(path)
    return after


def twins(name: str) -> list[str]:
    """Return the names under which a copy of a file would be taken for one of its kind."""
    stem, _, suffix = name.partition(".")
    if stem.isdigit():
        return [f"{int(stem) + step:020d}.{suffix}" for step in (1, 1000)]
    return [f"checkpoint.{1 - int(suffix)}"] if stem == "checkpoint" else []
