"""Memory for large requests that is used again and again, in slabs of 2 MiB.

Fresh memory is expensive: it is filled with zeros, and the first touch of a page takes a fault, on virtual
machines up to 14 µs.  Of the time of a Produce of large batches that was a third.

    slab   [ lease | lease | lease | window .... |   free   ]     handed out from front to back
                     a slice of a lease, kept by the log, keeps the slab

A lease is a memoryview of the slab, and each lease, with all slices of it, holds one reference to the slab.
So a slab is free when nothing but the arena refers to it: there is nothing to give back, and nothing can be
given back too early.  A window is a lease for bytes of which it is not known yet how many will come; what is
not used of it can be handed out again, as long as it is the last one.

An arena has a bound; when no slab is free the caller takes ordinary memory.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from contextlib import suppress
from sys import getrefcount
from typing import Final

SLAB_BYTES: Final = 2 << 20
"""A huge page of x86-64, and of ARM with pages of 4 KiB."""

ALIGNMENT: Final = 64
"""Leases begin at a cache line."""

WINDOW_SHARE: Final = 32
"""Less than one part in so many of a slab, 64 KiB, is no window: it would take more system calls."""


def _nothing() -> None:
    return


class SlabArena:
    """The slabs of a process; they are made when they are needed, up to `slabs_max`."""

    __slots__ = ("_current", "_filled", "_open", "_reach", "_slabs", "grown", "slab_bytes", "slabs_max")

    def __init__(self, slabs_max: int, slab_bytes: int = SLAB_BYTES) -> None:
        self.slabs_max = slabs_max
        self.slab_bytes = slab_bytes
        # Called when the first slab is made.
        self.grown: Callable[[], None] = _nothing
        self._slabs: list[mmap.mmap] = []
        # The place of the slab that leases come from, and the bytes of it that were handed out.
        self._current = -1
        self._filled = slab_bytes
        # The start of the window, while it is the last lease; else -1.
        self._open = -1
        # The slabs from here on were not used since the last `trim`.
        self._reach = 0

    @property
    def size_bytes(self) -> int:
        """The memory of all slabs."""
        return len(self._slabs) * self.slab_bytes

    def take(self, size_bytes: int) -> memoryview | None:
        """Lend memory, whose content is what its last users left; None: there is none."""
        if size_bytes > self.slab_bytes or not self._has_room(size_bytes):
            return None
        return self._lend(self._filled, size_bytes)

    def window(self, size_bytes_max: int) -> memoryview | None:
        """Lend memory for at most so many bytes; `used` or `claim` follows.  None: there is none."""
        if not self._has_room(self.slab_bytes // WINDOW_SHARE):
            return None
        start = self._filled
        lease = self._lend(start, min(size_bytes_max, self.slab_bytes - start))
        self._open = start
        return lease

    def used(self, size_bytes: int) -> None:
        """Hand out again what lies after so many bytes of the window."""
        if self._open >= 0:
            self._end_at(self._open + size_bytes)

    def claim(self, start: int, size_bytes: int) -> memoryview | None:
        """Lend the memory from a place in the window on, with what lies after the window.

        What is there already stays.  None: there is not so much, and the window is as it was.
        """
        if self._open < 0 or self._open + start + size_bytes > self.slab_bytes:
            return None
        return self._lend(self._open + start, size_bytes)

    def trim(self) -> bool:
        """Give free slabs back that were not used since the last call; return whether any slab is left.

        Those in the front are used first, so that the others are left over when less is needed.
        """
        reach, self._reach = self._reach, 0
        kept = [place for place in range(len(self._slabs)) if place < reach or not self._is_free(place)]
        if len(kept) < len(self._slabs):
            self._slabs = [self._slabs[place] for place in kept]
            self._current, self._filled, self._open = -1, self.slab_bytes, -1
        return bool(kept)

    def _lend(self, start: int, size_bytes: int) -> memoryview:
        self._end_at(start + size_bytes)
        return memoryview(self._slabs[self._current])[start : start + size_bytes]

    def _end_at(self, end: int) -> None:
        self._filled = end + -end % ALIGNMENT
        self._open = -1

    def _has_room(self, size_bytes: int) -> bool:
        """Whether there is so much in the present slab, or in another one, which is then the present one."""
        if self._current >= 0 and self._is_free(self._current):
            self._begin_slab()  # this one, or one in the front
        return self._filled + size_bytes <= self.slab_bytes or self._begin_slab()

    def _is_free(self, place: int) -> bool:
        return getrefcount(self._slabs[place]) <= _UNUSED

    def _begin_slab(self) -> bool:
        """Take the first slab that is free, or a new one; return False if there is neither."""
        for place in range(len(self._slabs)):
            if self._is_free(place):
                break
        else:
            place = len(self._slabs)
            if place >= self.slabs_max:
                return False
            self._slabs.append(_new_slab(self.slab_bytes))
            if not place:
                self.grown()
        self._current, self._filled = place, 0
        self._reach = max(self._reach, place + 1)
        return True


def _new_slab(size_bytes: int) -> mmap.mmap:
    slab = mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without huge pages
        slab.madvise(mmap.MADV_HUGEPAGE)
    return slab


def _references_of_unused() -> int:
    """Return what `getrefcount` says, in `_is_free`, of a slab without a lease."""
    slabs = [mmap.mmap(-1, mmap.PAGESIZE)]
    return getrefcount(slabs[0])


_UNUSED: Final = _references_of_unused()
