"""The C library's allocator, told to give large blocks back to the system.

glibc maps blocks above a threshold by themselves, but raises the threshold, up to 32 MiB, with each one that
is freed.  From then on columns and tables of some megabytes, which grow by being moved, lie in the heap and
leave holes in it: after four requests with a record to each of 190,000 partitions a server's peak was 416 MB,
and 394 with these thresholds.  One that was set stays where it is, and so does the other, above which free
memory at the heap's end is given back; that would be 128 KiB.
"""

from __future__ import annotations

import ctypes
from typing import Final

M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
"""The parameters' numbers.  Source: malloc.h of glibc; musl and macOS have no mallopt."""

MAPPED_BYTES: Final = 4 << 20
"""Blocks from this size on are mapped: tables and columns, but neither usual requests nor answers."""

KEPT_BYTES: Final = 8 << 20
"""The free memory at the heap's end that is kept."""


def map_large_blocks() -> bool:
    """Have large blocks mapped by themselves; return False where the allocator cannot be told to."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES) and mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
