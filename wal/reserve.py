"""Room kept for a full disk: without it the record of a deletion would have nowhere to go.

A file of its own in the log's directory. When there is no room for a segment or a checkpoint, it is removed,
which gives them that room; maintenance makes it again once there is enough.
"""

from __future__ import annotations

from wal.disk import Disk, NoSuchFile

RESERVE = "reserve"


class Reserve:
    """The reserve of one log; `release` and `make` are called in threads."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._path = f"{directory}/{RESERVE}"
        self.held = disk.exists(self._path)

    def release(self) -> bool:
        """Give up the room; return whether there was any.  Raises: DiskError."""
        if not self.held:
            return False
        self.held = False
        try:
            self._disk.remove(self._path)
        except NoSuchFile:
            return False
        return True

    def make(self, size_bytes: int) -> None:
        """Take the room.  Raises: DiskFull, then nothing was taken; DiskError."""
        file = self._disk.open(self._path, create=True)
        try:
            file.allocate(size_bytes)
        except BaseException:
            file.close()
            self._disk.remove(self._path)
            raise
        file.close()
        self.held = True
