"""Everything a vnode's log knows, in one object that its parts share; only the event loop changes it."""

from __future__ import annotations

import errno
from collections import deque
from hashlib import blake2b

from wal.disk import Disk, File
from wal.disk_errors import DiskFull, disk_error
from wal.errors import LogClosed, LogDamaged, LogFailed, WalError
from wal.frame import OpenFrame
from wal.options import LogOptions
from wal.producers import Producers
from wal.segment import Segment, Segments, segment_name
from wal.stream import Stream
from wal.tail import IndexCache, TailCache


class LogState:
    """State of one vnode's log.

    Sequences count frames, versions count records. `next_version` runs ahead of what is written: it is what
    the next append gets; `written_version` is what the next frame on disk will begin with.
    """

    def __init__(self, disk: Disk, directory: str, options: LogOptions, now_ms: int) -> None:
        self.disk = disk
        self.directory = directory
        self.options = options
        self.now_ms = now_ms
        self.wall_offset_ms = 0
        """What the wall clock is ahead of `now_ms`; frames carry its time, for people to read."""
        self.streams: dict[int, Stream] = {}
        self.announced_starts: dict[int, int] = {}
        """Log starts on their way to the disk, by stream."""
        self.deletions = 0
        """How often records were deleted since the start: log starts moved, streams dropped."""
        self.segments = Segments()
        self.tail = TailCache(options.tail_cache_bytes)
        self.index_cache = IndexCache(options.index_cache_bytes)
        self.pending: deque[OpenFrame] = deque()
        """Frames not yet given to a job, oldest first; the last one is open."""
        self.next_version = 0
        self.written_version = 0
        self.next_sequence = 0
        """The sequence of the next frame on disk."""
        self.durable_sequence = 0
        """All frames below it are synced."""
        self.spare_in_use = False
        """A commit under way has taken the spare and has not renamed it yet: its name must not be reused."""
        self.spare: File | None = None
        """A preallocated `spare.tmp`."""
        self.expected_crc = 0
        """Header CRC of the last frame of the newest segment."""
        self.producers = Producers(
            expiration_ms=options.producer_expiry_ms,
            producers_per_stream_max=options.producers_per_stream_max,
        )
        self.retired_bases: set[int] = set()
        """Base versions of segments that may go, durably."""
        self.retiring_bases: set[int] = set()
        """The same, announced in a frame that is not synced yet."""
        self.full = False
        self.failure: LogFailed | None = None
        self.damage: LogDamaged | None = None
        self.closed = False
        self.scrub_damages: list[LogDamaged] = []
        """Damage found in sealed segments: appends are refused; what was appended before is written, and all
        but the damaged batches is read."""

    @property
    def active(self) -> Segment | None:
        """The newest segment, sealed or not."""
        return self.segments.all[-1] if self.segments.all else None

    def path(self, name: str) -> str:
        """A path in the log's directory."""
        return f"{self.directory}/{name}"

    def stop(self) -> WalError | None:
        """Why nothing more is written at all, if nothing is."""
        if self.damage is not None:
            return self.damage
        if self.failure is not None:
            return self.failure
        if self.closed:
            return LogClosed(f"{self.directory}: the log is closed")
        return None

    def refusal(self) -> WalError | None:
        """Why all appends are refused now, if they are; a full disk refuses only some."""
        return self.stop() or next(iter(self.scrub_damages), None)

    def disk_full(self) -> DiskFull:
        """The refusal of an ordinary append while the disk is full."""
        error = disk_error("append to", self.directory, errno.ENOSPC)
        assert isinstance(error, DiskFull)
        return error

    def stream(self, stream_id: int) -> Stream:
        """The stream, made when it is new."""
        stream = self.streams.get(stream_id)
        if stream is None:
            stream = self.streams[stream_id] = Stream(stream_id)
        return stream

    def new_segment(self, base_version: int, base_sequence: int) -> Segment:
        """A segment that does not exist yet; its salt is unlike that of any other file."""
        key = b"%s|%s|%d|%d|%d|%d" % (
            self.options.identity, self.directory.encode(), self.options.vnode_id, base_version,
            base_sequence, self.now_ms,
        )  # fmt: skip
        salt = int.from_bytes(blake2b(key, digest_size=8).digest(), "little")
        return Segment(
            self.path(segment_name(base_version)),
            base_version=base_version,
            base_sequence=base_sequence,
            salt=salt,
        )
