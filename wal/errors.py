"""The engine's errors: one tree, and the disk's own `DiskFull`.

WalError
  OffsetOutOfRange     a read below the log start or above the high watermark
  StreamDropped        an append to a stream that was dropped
  IndexRebuilding      a read needs an index that is damaged; a thread makes it again
  LogClosed            a call after close
  LogFailed            the vnode stopped after a failed write or sync; reopen it
  LogDamaged           acknowledged bytes are damaged; reads below the damage still work
  StoreError           the data directory cannot be used (subclasses say why)

IndexNotLoaded         a read that must not wait needs an index that is on the disk; a thread reads it
"""

from __future__ import annotations

from collections.abc import Callable

from wal.disk_errors import DiskFull

__all__ = [
    "DiskFull",
    "ForeignDirectory",
    "IndexNotLoaded",
    "IndexRebuilding",
    "LogClosed",
    "LogDamaged",
    "LogFailed",
    "MetadataLost",
    "NotUsable",
    "OffsetOutOfRange",
    "OtherWorkers",
    "RemoteOnly",
    "RemoteReadError",
    "RemoteWaits",
    "StoreBehind",
    "StoreError",
    "StoreInUse",
    "StreamDropped",
    "UnknownFormat",
    "VnodeMissing",
    "WalError",
]


Offload = Callable[[Callable[[], object], Callable[[Exception | None], None]], None]
"""Runs its first argument elsewhere, then calls the second one on the event loop."""


class WalError(Exception):
    """The base of every error that the engine raises on purpose, except for the disk's own."""


class OffsetOutOfRange(WalError):
    """An offset below the log start or above the high watermark; both are given."""

    def __init__(self, stream_id: int, offset: int, log_start: int, high_watermark: int) -> None:
        super().__init__(
            f"stream {stream_id}: offset {offset} is outside [{log_start}, {high_watermark}]; "
            "read from the log start or the high watermark"
        )
        self.stream_id = stream_id
        self.offset = offset
        self.log_start = log_start
        self.high_watermark = high_watermark


class StreamDropped(WalError):
    """An append to a stream that was dropped; its id is never used again."""

    def __init__(self, stream_id: int) -> None:
        super().__init__(f"stream {stream_id} was dropped; create a new stream instead of appending to it")
        self.stream_id = stream_id


class IndexRebuilding(WalError):
    """A read needs an index whose file is damaged; maintenance makes it again from the frames."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: the index of this segment is damaged and is being made again; ask again")
        self.path = path


class IndexNotLoaded(Exception):
    """A read that must not wait for the disk needs an index that is not in memory; a thread can `load` it.

    It is no error of the engine: only callers that ask not to wait get it, and then read again.
    """

    def __init__(self, path: str, load: Callable[[], None], adopt: Callable[[], bool]) -> None:
        """`load()` reads the index, in a thread; then `adopt()` uses it, and returns whether there is one."""
        super().__init__(f"{path}: the index of this segment is not in memory")
        self.path = path
        self.load = load
        self.adopt = adopt
        self.offload: Offload | None = None
        """The only way to `load`, for what does not come from the disk."""


class RemoteReadError(WalError):
    """A read of a segment in the object store that did not succeed; the log itself is as good as before."""


class RemoteOnly(RemoteReadError):
    """A read that needs the file of a segment, which is in the object store only."""

    def __init__(self, path: str, key: str) -> None:
        super().__init__(
            f"{path}: the segment has left the disk, and this kind of read does not go to its object "
            f"{key!r}; read its topics by partition, or 'kawal restore' the whole to a disk with room for it"
        )


class RemoteWaits(RemoteReadError):
    """A read of bytes that are not in memory: they are being fetched from the object store."""

    def __init__(self, missing: IndexNotLoaded) -> None:
        """`missing` is what to wait for."""
        super().__init__(f"{missing.path}: these bytes are being fetched from the object store; ask again")
        self.missing = missing


class LogClosed(WalError):
    """A call to a log that was closed; nothing more can be appended to it."""


class StoreBehind(WalError):
    """The object store has not taken what was written, so the log takes no more for now."""


class LogFailed(WalError):
    """A failed write or sync: nothing is acknowledged until the log has been verified against the disk."""


class LogDamaged(WalError):
    """Damage to acknowledged bytes, in `file` and the byte range [`start`, `end`).

    Reads below the damage still work; appends are refused until `kawal wal repair --accept-loss`.
    """

    def __init__(self, file: str, start: int, end: int, problem: str) -> None:
        super().__init__(
            f"{file}: bytes {start} to {end} are damaged: {problem}; records acknowledged to clients were "
            "stored there, so this is no torn tail; restore the file, or run "
            "'kawal wal repair --accept-loss' to continue without them"
        )
        self.file = file
        self.start = start
        self.end = end
        self.problem = problem


class StoreError(WalError):
    """A data directory that cannot be used as it is."""


class NotUsable(StoreError):
    """A path that is no directory, or may not be read and written."""


class UnknownFormat(StoreError):
    """A data directory in a format that this version does not know."""


class StoreInUse(StoreError):
    """A data directory held by another process; `holder_pid` is its process id, 0 when unknown."""

    def __init__(self, message: str, holder_pid: int) -> None:
        super().__init__(message)
        self.holder_pid = holder_pid


class ForeignDirectory(StoreError):
    """A directory that is not empty and holds no Kawal metadata."""


class MetadataLost(StoreError):
    """A data directory whose metadata is damaged or missing although data is there."""


class OtherWorkers(StoreError):
    """A data directory, or a copy of one, that belongs to another number of workers."""


class VnodeMissing(StoreError):
    """A vnode that the catalogue knows but whose directory is missing."""
