"""Reads around sectors that the device cannot read: the rest of a file is still worth something.

A read that fails is made once more. If it fails again, it is made block by block, and zeros take the place
of the blocks that fail: no frame validates over them, so they are noticed like any other damage. `overlaps`
tells them from room that was never written.
"""

from __future__ import annotations

import errno

from wal.disk import File
from wal.disk_errors import DiskError

BLOCK_BYTES = 4 << 10
"""The unit in which the page cache reads: one bad sector of 512 bytes makes all of it unreadable."""

_ERRORS = frozenset((errno.EIO, errno.ENODATA, errno.EILSEQ, errno.EBADMSG, errno.EUCLEAN, errno.EREMOTEIO))
"""The answers of devices and file systems to a read of bytes that are lost."""


def is_unreadable(error: DiskError) -> bool:
    """Return whether the error says that bytes are lost, not that the call was wrong."""
    return error.errno in _ERRORS


class PatientReader:
    """The reading half of a `File`, which goes around what cannot be read; `bad` lists those ranges."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.bad: list[tuple[int, int]] = []

    def size(self) -> int:
        """Return the size of the file."""
        return self._file.size()

    def next_data(self, position: int) -> int:
        """Return a position before which nothing was written, as `File.next_data`."""
        return self._file.next_data(position)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read as `File.read_at`; zeros take the place of what cannot be read.

        Raises: DiskError, when it is no matter of lost bytes.
        """
        data = self._attempt(position, size_bytes)
        if data is not None:
            return data
        data = self._attempt(position, size_bytes)
        return data if data is not None else self._piecewise(position, size_bytes)

    def _attempt(self, position: int, size_bytes: int) -> bytes | None:
        try:
            return self._file.read_at(position, size_bytes)
        except DiskError as error:
            if not is_unreadable(error):
                raise
            return None

    def _piecewise(self, position: int, size_bytes: int) -> bytes:
        parts = []
        end = min(position + size_bytes, self._file.size())
        while position < end:
            after = min(end, position - position % BLOCK_BYTES + BLOCK_BYTES)
            part = self._attempt(position, after - position)
            if part is None:
                part = bytes(after - position)
                self._note(position, after)
            parts.append(part)
            position = after
        return b"".join(parts)

    def _note(self, start: int, end: int) -> None:
        if not self.overlaps(start, end):
            self.bad.append((start, end))

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether a byte in [start, end) could not be read."""
        return any(start < after and end > before for before, after in self.bad)
