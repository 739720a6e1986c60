"""Dropping a server's data files from the page cache, and counting what stays there."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)


def drop(directory: Path) -> int:
    """Write back and drop every file below `directory`; return how many bytes the cache still holds.

    Pages that a process has mapped, as Kafka maps its indexes, stay.
    """
    paths = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return sum(_drop_file(path) for path in paths)


def _drop_file(path: Path) -> int:
    # Opened for writing where the sync needs it; nothing is written.
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return _cached_bytes(descriptor)
    finally:
        os.close(descriptor)


def _cached_bytes(descriptor: int) -> int:
    size = os.fstat(descriptor).st_size
    if not size:
        return 0
    with mmap.mmap(descriptor, size) as view:
        pages = -(-size // mmap.PAGESIZE)
        resident = (ctypes.c_ubyte * pages)()
        start = ctypes.c_char.from_buffer(view)
        try:
            if _LIBC.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), resident) != 0:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code))
            return sum(page & 1 for page in bytes(resident)) * mmap.PAGESIZE
        finally:
            # The mapping cannot be closed while something points into it.
            del start
