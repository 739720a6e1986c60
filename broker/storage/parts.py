"""The bytes of what a log gives to read: threads read the parts that lie in files, as disks may take long."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from broker.loop.slices import Offload, Until, in_thread
from wal.reader import Part
from wal.segment import FileRange


def joined(parts: Sequence[Part]) -> bytes:
    """Return the bytes of all parts, reading here what lies in files.  Raises: LogDamaged, DiskError."""
    return b"".join(part.read() if isinstance(part, FileRange) else part for part in parts)


def joined_in_thread(parts: Sequence[Part], offload: Offload) -> Generator[Until, None, bytes]:
    """Return the bytes of all parts; a thread reads them if any lies in a file.

    Those that are large, not in the page cache or not compared with their CRCs since the start do.
    Raises: LogDamaged, DiskError.
    """
    if any(isinstance(part, FileRange) for part in parts):
        return (yield from in_thread(offload, lambda: joined(parts)))
    return joined(parts)
