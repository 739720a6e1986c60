"""A disk for nbdkit's python plugin that logs every write and every barrier: `nbdkit python block_plugin.py`.

    store=FILE     where the disk's bytes lie; its size is the disk's
    log=FILE       one record for each write and each flush, in the order in which they were carried out

A record is RECORD (kind, monotonic ns, position, size), followed by the bytes of a write.  A flush is logged
before it is answered, so that a caller learns of it after the time in the log.  It runs in nbdkit's own
Python, so it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import struct
import time
from typing import Any

RECORD = struct.Struct("<cQQI")
WRITE, FLUSH = b"W", b"F"
API_VERSION = 2

_paths: dict[str, str] = {}
_open_files: dict[str, int] = {}


def config(key: str, value: str) -> None:
    """Take an argument of the command line."""
    _paths[key] = value


def thread_model() -> Any:
    """Serve one call after the other, so that the log's order is the disk's."""
    import nbdkit  # type: ignore[import-not-found]  # exists inside nbdkit alone

    return nbdkit.THREAD_MODEL_SERIALIZE_ALL_REQUESTS


def get_ready() -> None:
    """Open the files."""
    _open_files["store"] = os.open(_paths["store"], os.O_RDWR)
    _open_files["log"] = os.open(_paths["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def open(readonly: bool) -> int:  # noqa: A001  (nbdkit's name)
    """Begin a connection."""
    del readonly
    return 1


def get_size(handle: int) -> int:
    """Return the size of the disk."""
    del handle
    return os.fstat(_open_files["store"]).st_size


def can_write(handle: int) -> bool:
    """Return True."""
    del handle
    return True


def can_flush(handle: int) -> bool:
    """Return True: barriers must reach the log."""
    del handle
    return True


def pread(handle: int, buffer: bytearray, position: int, flags: int) -> None:
    """Read."""
    del handle, flags
    buffer[:] = os.pread(_open_files["store"], len(buffer), position)


def pwrite(handle: int, data: bytes, position: int, flags: int) -> None:
    """Write, and log it."""
    del handle, flags
    head = RECORD.pack(WRITE, time.monotonic_ns(), position, len(data))
    os.writev(_open_files["log"], [head, data])
    os.pwrite(_open_files["store"], data, position)


def flush(handle: int, flags: int) -> None:
    """Log a barrier."""
    del handle, flags
    os.write(_open_files["log"], RECORD.pack(FLUSH, time.monotonic_ns(), 0, 0))
