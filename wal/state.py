"""The state of a vnode's log, in one object that its parts share; only the event loop changes it."""

from __future__ import annotations

import errno
from collections import deque
from hashlib import blake2b
from typing import Final

from wal.block_cache import BlockCache, SharedRead
from wal.disk import Disk, File
from wal.disk_errors import DiskFull, disk_error
from wal.errors import LogClosed, LogDamaged, LogFailed, StoreBehind, WalError
from wal.format import COPIES_BIT
from wal.frame import OpenFrame
from wal.hidden import Hidden
from wal.jobs import CommitJob
from wal.named_producers import NamedProducers
from wal.newest_frames import NewestFrames
from wal.options import LogOptions
from wal.producers import Producers
from wal.remote_record import RemoteRecord
from wal.reserve import Reserve
from wal.segment import SPARE, Segment, Segments, segment_name
from wal.stream import LOG_STREAM, Stream
from wal.tail import IndexCache, TailCache

DELETIONS_KEPT: Final = 1_000
"""The last deletions whose streams are known, in 40 KB."""


class LogState:
    """The state of one vnode's log.

    Sequences count frames, versions count records. `next_version` is the version of the next append and runs
    ahead of what is written; the next frame on disk will begin with `written_version`.
    """

    def __init__(self, disk: Disk, directory: str, options: LogOptions, now_ms: int) -> None:
        self.disk = disk
        self.directory = directory
        self.options = options
        self.now_ms = now_ms
        self.wall_offset_ms = options.wall_offset_ms
        """The lead of the wall clock over `now_ms`: frames carry the time of day of their writing."""
        self.streams: dict[int, Stream] = {}
        self.announced_starts: dict[int, int] = {}
        """The log starts that are not durable yet, by stream."""
        self.deletions, self.deleted_in = 0, deque[int](maxlen=DELETIONS_KEPT)
        """The number of deletions (log starts moved, streams dropped, segments removed); the last streams."""
        self.compactions = 0
        """The number of passes of compaction that count, since the start."""
        self.ledgers_begun = 0
        """The number of ledgers that have begun durably since the start."""
        self.segments = Segments()
        self.unindexed = True
        """Whether a sealed segment may be without its `.idx`."""
        self.tail = TailCache(options.tail_cache_bytes)
        self.index_cache = IndexCache(options.index_cache_bytes)
        self.newest_frames = NewestFrames()
        self.pending: deque[OpenFrame] = deque()
        """The frames not yet given to a job, oldest first; the last one is open."""
        self.unstored: deque[CommitJob] = deque()
        """The commits that are on the disk and count once they are in the object store (wal/unstored.py)."""
        self.replayed = Hidden() if options.durability == "remote" else None
        self.hidden: Hidden | None = None  # of these, what is not shown yet (wal/hidden.py)
        self.next_version = self.written_version = 0
        self.next_sequence = 0
        """The sequence of the next frame on disk."""
        self.durable_sequence = 0
        """All frames below this sequence are synced."""
        self.spare_in_use = False
        """Whether a commit under way has taken the spare but not renamed it: its name must not be reused."""
        self.spare: File | None = None
        """A preallocated `spare.tmp`."""
        self.reserve = Reserve(disk, directory) if options.reserve_bytes else None
        self.expected_crc = 0
        """The header CRC of the last frame of the newest segment."""
        self.producers, self.named = Producers(), NamedProducers()
        self.producers.configure(options)
        self.named.configure(options)
        self.retired_bases, self.retiring_bases = set[int](), set[int]()
        """The base versions of segments that were retired, durably or in a frame that is not synced yet."""
        self.full, self.behind = False, False
        """Whether the disk has no room, and whether the object store lags: ordinary appends are refused."""
        self.failure: LogFailed | None = None
        self.damage: LogDamaged | None = None
        self.closed = False
        self.suspects = list[Segment]()
        """The segments in which a reader found damage: they are scrubbed next."""
        self.to_tier, self.blocks = list[RemoteRecord](), BlockCache()  # wal/tiering.py
        self.fetched_indexes, self.to_store = dict[int, SharedRead](), dict[int, bytes]()  # remote_index.py
        self.to_rebuild: list[Segment] = []
        """The segments whose index a thread makes again."""
        self.must_not_wait = False
        """Whether the present read leaves it to a thread to read indexes from the disk."""
        self.scrub_damages: list[LogDamaged] = []
        """The damage found in sealed segments: appends are refused, and all but damaged batches are read."""

    @property
    def remote_records(self) -> dict[int, RemoteRecord]:
        """The objects of the segments that have left the disk, by base version."""
        return {known.base_version: known.remote for known in self.segments.all if known.remote is not None}

    @property
    def active(self) -> Segment | None:
        """The newest segment, sealed or not."""
        return self.segments.all[-1] if self.segments.all else None

    def path(self, name: str) -> str:
        """Return a path in the log's directory."""
        return f"{self.directory}/{name}"

    def note_deletion(self, stream_id: int = LOG_STREAM) -> None:
        """Count a deletion in a stream, or of segments."""
        self.deletions += 1
        self.deleted_in.append(stream_id)

    def stop(self) -> WalError | None:
        """Return why nothing more is written at all, if that is so."""
        if self.damage is not None:
            return self.damage
        if self.failure is not None:
            return self.failure
        if self.closed:
            return LogClosed(f"{self.directory}: the log is closed")
        return None

    def refusal(self) -> WalError | None:
        """Return why all appends are refused now, if they are; a full disk refuses only some."""
        return self.stop() or next(iter(self.scrub_damages), None)

    def found_damage(self, segment: Segment, damage: LogDamaged) -> None:
        """Refuse appends from now on, as bytes of a segment are damaged; the segment is scrubbed next."""
        if segment.damage is None:
            segment.damage = damage
            self.scrub_damages.append(damage)
            self.suspects.append(segment)

    def no_room(self) -> DiskFull | StoreBehind:
        """Return the refusal of an ordinary append while the disk is full, or the store is behind."""
        if not self.full:
            return StoreBehind(f"{self.directory}: the object store lags too far behind; try again later")
        error = disk_error("append to", self.directory, errno.ENOSPC)
        assert isinstance(error, DiskFull)
        return error

    def stream(self, stream_id: int) -> Stream:
        """Return the stream; make it when it is new."""
        stream = self.streams.get(stream_id)
        if stream is None:
            stream = self.streams[stream_id] = Stream(stream_id)
            own = self.streams.get(LOG_STREAM)
            if own is not None and stream_id < COPIES_BIT:
                # Another stream of this id may have been lost, with all its records.
                stream.begin_epoch(own.leader_epoch, 0)
        return stream

    def close_spare(self) -> None:
        """Close the preallocated file, if there is one."""
        if self.spare is not None:
            self.spare.close()
            self.spare = None

    @property
    def lacks_store(self) -> bool:
        """Whether it has frames that the object store may lack, or is about to."""
        is_waiting = bool(self.unstored or (self.pending and self.options.durability == "remote"))
        return is_waiting or self.hidden is not None

    def remove_spare(self) -> None:
        """Remove it, if there is one.  Raises: DiskError."""
        if self.spare is not None:
            self.close_spare()
            self.disk.remove(self.path(SPARE))

    def new_segment(self, base_version: int, base_sequence: int) -> Segment:
        """Return a segment that does not exist yet; its salt is unlike that of any other file."""
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
