"""Jobs that touch the disk and run in a thread: everything they need is prepared, nothing is shared.

A job is made on the event loop, `run` in a worker thread, and handed back to the log with the outcome. At
most one `SyncJob` of a log is under way; crash safety rests on its steps and their order:

    roll     footer into the old segment, cut, fdatasync
             `next.tmp` made new, allocated, header, fdatasync; renamed; directory synced
    write    one gathered write of the frame
    sync     fdatasync                                                  only now the frame's batches are safe
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from wal.disk import Buffer, Disk, DiskError, DiskFull, File
from wal.format import FIRST_FRAME_POSITION
from wal.frame import BuiltFrame
from wal.reserve import Reserve
from wal.scan import Scan
from wal.segment import Segment, SharedFile, Totals, base_version_of


class Phase(Enum):
    """The progress of a job, which decides how a failure is treated."""

    PREPARE = "prepare"
    """Nothing on which an acknowledged record depends has been touched."""
    WRITE = "write"
    SYNC = "sync"
    DONE = "done"


@dataclass(slots=True, kw_only=True)
class SealPlan:
    """The closing of a segment: its footer, the release of the room after it, a sync."""

    segment: Segment
    file: SharedFile
    position: int
    footer: bytes
    footer_crc: int
    done: bool = False

    def run(self) -> None:
        """Write the footer, cut the file, sync."""
        self.file.file.write_at(self.position, [self.footer])
        self.file.file.truncate(self.position + len(self.footer))
        self.file.file.sync()
        self.done = True


@dataclass(slots=True, kw_only=True)
class CreatePlan:
    """The making of a segment: complete and synced under a temporary name, and only then given its own."""

    disk: Disk
    directory: str
    temporary_path: str
    path: str
    capacity: int
    header: bytes
    spare: File | None = None
    """An already allocated file with the temporary name, if there is one."""
    reserve: Reserve | None = None
    """Room to give up when there is none left."""
    done: bool = False

    def allocate(self) -> File:
        """Return the file with its room reserved.  Raises: DiskFull; then nothing is left of it."""
        if self.spare is not None:
            return self.spare
        try:
            return make_spare(self.disk, self.temporary_path, self.capacity)
        except DiskFull:
            if self.reserve is None or not self.reserve.release():
                raise
            return make_spare(self.disk, self.temporary_path, self.capacity)

    def give_up(self) -> None:
        """Close the file that was to be used, after a failure before its use."""
        if self.spare is not None:
            self.spare.close()

    def name(self, file: File) -> None:
        """Write the header and publish the file."""
        file.write_at(0, [self.header])
        file.sync()
        self.disk.rename(self.temporary_path, self.path)
        self.disk.sync_directory(self.directory)
        self.done = True


def make_spare(disk: Disk, path: str, capacity: int) -> File:
    """Make a file with room for `capacity` bytes; on an error, remove its name again."""
    if disk.exists(path):
        disk.remove(path)
    file = disk.open(path, create=True, exclusive=True)
    try:
        file.allocate(capacity)
    except OSError:
        file.close()
        disk.remove(path)
        raise
    return file


class SyncJob:
    """A job from `VnodeLog.begin_sync`, to be run in a thread and then handed to `synced` or `failed`."""

    phase: Phase = Phase.PREPARE
    on_written: Callable[[], None] | None = None
    """Called in the worker thread once the bytes are written but not yet synced."""

    def run(self) -> None:
        """Do the work.  Raises: DiskError."""
        raise NotImplementedError


@dataclass(slots=True, kw_only=True, eq=False)
class CommitJob(SyncJob):
    """A job that writes a frame and makes it durable, rolling to a new segment first when that is due."""

    disk: Disk
    segment: Segment
    """The segment for the frame."""
    file: SharedFile | None
    """Its file; made by the job when `create` is given."""
    position: int
    buffers: list[Buffer]
    size_bytes: int
    built: BuiltFrame | None
    next_sequence: int
    """The sequence after the job's last frame."""
    last_crc: int
    totals: Totals
    closes: bool
    """Whether the last frame is a footer."""
    needs_sync: bool
    seal: SealPlan | None = None
    create: CreatePlan | None = None
    free_bytes: int | None = None
    """The free space, measured when a segment was made."""
    phase: Phase = Phase.PREPARE
    on_written: Callable[[], None] | None = None

    @property
    def entry_count(self) -> int:
        """The number of entries that become durable together: batches, and meta entries of streams."""
        return 0 if self.built is None else self.built.header.entry_count

    def run(self) -> None:
        """Roll when due, write, sync."""
        if self.seal is not None:
            self.phase = Phase.SYNC
            try:
                self.seal.run()
            except DiskError:
                if self.create is not None:
                    self.create.give_up()
                raise
        if self.create is not None:
            self.phase = Phase.PREPARE
            file = self.create.allocate()
            self.file = SharedFile(file)
            self.phase = Phase.SYNC
            self.create.name(file)
            self.free_bytes = self.disk.free_bytes(self.create.directory)
        assert self.file is not None
        file = self.file.file
        self.phase = Phase.WRITE
        file.write_at(self.position, self.buffers)
        if self.closes:
            file.truncate(self.position + self.size_bytes)
        if self.on_written is not None:
            self.on_written()
        if self.needs_sync:
            self.phase = Phase.SYNC
            file.sync()
        self.phase = Phase.DONE


@dataclass(slots=True, kw_only=True, eq=False)
class ReopenJob(SyncJob):
    """A job that finds out what the disk really holds after a failure, and copies the good part.

    The kernel forgets a failed sync and keeps showing the lost bytes, so the cache is dropped first. The
    segment's frames up to the last acknowledged one are checked, copied to a new file, synced and put in the
    old file's place; bytes after them, written or not, disappear with the old file.
    """

    disk: Disk
    directory: str
    segment: Segment | None
    file: SharedFile | None
    temporary_path: str
    keep: set[int]
    """The base versions of the segments that the log knows; any other was left by the failed job."""
    trust_cache: bool
    """Durability `os`: bytes that are only in the cache were acknowledged too, so they must be copied."""
    problem: str = ""
    damage_position: int = 0
    fresh: SharedFile | None = None
    free_bytes: int | None = None
    phase: Phase = Phase.PREPARE
    on_written: Callable[[], None] | None = field(default=None)

    def run(self) -> None:
        """Verify, copy, sync, replace."""
        for name in self.disk.list(self.directory):
            base_version = base_version_of(name)
            if base_version is not None and base_version not in self.keep:
                self.disk.remove(f"{self.directory}/{name}")
        self.free_bytes = self.disk.free_bytes(self.directory)
        if self.segment is not None and self.file is not None:
            self._verify(self.segment, self.file.file)
            if not self.problem:
                self._copy(self.segment, self.file.file)
        self.disk.sync_directory(self.directory)
        self.phase = Phase.DONE

    def _verify(self, segment: Segment, file: File) -> None:
        if not self.trust_cache:
            file.drop_cache()
        scan = Scan(file, seed=segment.seed, position=FIRST_FRAME_POSITION, sequence=segment.base_sequence)
        for frame in scan:
            if frame.next_sequence >= segment.next_sequence:
                break
        if scan.sequence < segment.next_sequence:
            self.problem = scan.problem or "the file ends too early"
            self.damage_position = scan.position

    def _copy(self, segment: Segment, file: File) -> None:
        fresh = make_spare(self.disk, self.temporary_path, max(segment.capacity, segment.end_position))
        self.fresh = SharedFile(fresh)
        position = 0
        while position < segment.end_position:
            part = file.read_at(position, min(1 << 20, segment.end_position - position))
            fresh.write_at(position, [part])
            position += len(part)
        fresh.sync()
        self.disk.rename(self.temporary_path, segment.path)
