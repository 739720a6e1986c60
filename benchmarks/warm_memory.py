"""The machine's memory, touched before anything is measured.

On a virtual machine the first touch of a page that the host has not given yet takes up to 14 µs, and the next
server to come finds what the one before it has touched: the order would be measured.
"""

from __future__ import annotations

import mmap
import os

SHARE = 2
"""One part in so many of the free memory is touched: a server and its page cache take less."""

BYTES_MAX = 4 << 30

CHUNK_BYTES = 64 << 20


def warm(limit_bytes: int = BYTES_MAX) -> int:
    """Touch free memory and give it back; return how much it was."""
    free_bytes = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    wanted = min(limit_bytes, free_bytes // SHARE)
    chunks = []
    for _ in range(wanted // CHUNK_BYTES):
        chunk = mmap.mmap(-1, CHUNK_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # One byte a page is enough: the kernel fills all of it with zeros.
        chunk[:: mmap.PAGESIZE] = b"\1" * (CHUNK_BYTES // mmap.PAGESIZE)
        chunks.append(chunk)
    for chunk in chunks:
        chunk.close()
    return len(chunks) * CHUNK_BYTES
