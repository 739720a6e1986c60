"""The jobs of maintenance: each has all it needs and touches no state, so it can run in any thread.

`wal.maintenance` decides when they are due, and applies what they did.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wal.checkpoint import Checkpoint, Witness, write_checkpoint, write_witness
from wal.disk import Disk, DiskError, DiskFull, File
from wal.errors import LogDamaged
from wal.index import ActiveIndex, encode_index
from wal.index_parts import Part, write_part
from wal.jobs import make_spare
from wal.locate import rebuild_index
from wal.reserve import Reserve
from wal.scrub import damage_of, remember_damage, write_place
from wal.segment import DELETED_SUFFIX, Segment, SharedFile, StoredPart


class Job:
    """Work for a thread; `run` may raise DiskError."""

    def run(self) -> None:
        """Do the work."""
        raise NotImplementedError


@dataclass(slots=True, eq=False)
class IndexJob(Job):
    """A job that writes the index of a closed segment.

    It is synced, because to rebuild one that a power failure took costs half a second. Its name becomes
    durable with the next checkpoint; a start before that reads the segment's frames anyway.
    """

    disk: Disk
    segment: Segment
    index: ActiveIndex
    vnode_id: int

    def run(self) -> None:
        """Encode and write the index."""
        segment = self.segment
        data = encode_index(
            self.index, vnode_id=self.vnode_id, base_version=segment.base_version,
            end_position=segment.end_position, next_version=segment.next_version, seed=segment.seed,
        )  # fmt: skip
        file = self.disk.open(segment.index_path, create=True)
        try:
            file.truncate(0)
            file.write_at(0, [data])
            file.sync()
        finally:
            file.close()


@dataclass(slots=True, eq=False)
class RebuildJob(Job):
    """A job that makes the index of a closed segment again, as its file is damaged."""

    segment: Segment
    file: SharedFile
    index: ActiveIndex | None = None

    def run(self) -> None:
        """Read the headers and tables of the segment's frames."""
        self.index = rebuild_index(self.segment, self.file.file)


@dataclass(slots=True, eq=False)
class CheckpointJob(Job):
    """A job that writes a checkpoint; durability `os` syncs the log first, so that it promises no more."""

    disk: Disk
    directory: str
    checkpoint: Checkpoint
    sync_first: SharedFile | None
    sequence: int
    """The frames below this sequence become durable with `sync_first`."""
    reserve: Reserve | None = None
    part: tuple[Segment, Part] | None = None
    """What is added to the stored index of the active segment."""
    useless_parts: list[str] = field(default_factory=list)
    """The stored parts of segments that the checkpoint lists as sealed."""
    stored_part: StoredPart | None = None
    """How much of that index is stored, once it is."""
    size_bytes: int = 0
    """The size of the checkpoint, once it is written."""

    def run(self) -> None:
        """Sync when needed, then write the checkpoint; remove what it makes useless."""
        if self.sync_first is not None:
            self.sync_first.file.sync()
        if self.part is not None:
            try:
                self.stored_part = write_part(self.disk, *self.part)
            except DiskError:
                self.stored_part = None  # it is derived: the next start reads the frames instead
        try:
            self.size_bytes = write_checkpoint(self.disk, self.directory, self.checkpoint)
        except DiskFull:
            if self.reserve is None or not self.reserve.release():
                raise
            self.size_bytes = write_checkpoint(self.disk, self.directory, self.checkpoint)
        for path in self.useless_parts:
            if self.disk.exists(path):
                self.disk.remove(path)


@dataclass(slots=True, eq=False)
class ReserveJob(Job):
    """A job that takes the room kept for a full disk."""

    reserve: Reserve
    size_bytes: int

    def run(self) -> None:
        """Take the room."""
        self.reserve.make(self.size_bytes)


@dataclass(slots=True, eq=False)
class WitnessJob(Job):
    """A job that records how far the log is synced, and measures the free space."""

    disk: Disk
    directory: str
    witness: Witness | None
    free_bytes: int = 0

    def run(self) -> None:
        """Write the witness, measure the free space."""
        if self.witness is not None:
            write_witness(self.disk, self.directory, self.witness)
        self.free_bytes = self.disk.free_bytes(self.directory)


@dataclass(slots=True, eq=False)
class SpareJob(Job):
    """A job that reserves room for the next segment under a temporary name."""

    disk: Disk
    path: str
    capacity: int
    file: File | None = None

    def run(self) -> None:
        """Make the file and sync it, so that the roll has less to wait for."""
        file = make_spare(self.disk, self.path, self.capacity)
        try:
            file.sync()
        except DiskError:
            file.close()
            raise
        self.file = file


@dataclass(slots=True, eq=False)
class RenameJob(Job):
    """A job that gives retired segments their last name; their retirement must be durable before."""

    disk: Disk
    directory: str
    segments: list[Segment]
    sync_first: SharedFile | None
    sequence: int

    def run(self) -> None:
        """Rename the files that still exist, and make that durable."""
        if self.sync_first is not None:
            self.sync_first.file.sync()
        for segment in self.segments:
            for path in (segment.index_path, segment.path):
                if self.disk.exists(path):
                    self.disk.rename(path, path + DELETED_SUFFIX)
        self.disk.sync_directory(self.directory)


@dataclass(slots=True, eq=False)
class UnlinkJob(Job):
    """A job that removes deleted files; readers keep the files that they have open."""

    disk: Disk
    paths: list[str]

    def run(self) -> None:
        """Remove the files that still exist."""
        for path in self.paths:
            if self.disk.exists(path):
                self.disk.remove(path)


@dataclass(slots=True, eq=False)
class ScrubJob(Job):
    """A job that reads a segment again and checks every CRC."""

    disk: Disk
    directory: str
    segment: Segment
    in_turn: bool
    """Whether it belongs to a pass over all segments, which is remembered, or is asked for by a reader."""
    damage: LogDamaged | None = None

    def run(self) -> None:
        """Read and check the whole segment; remember any damage."""
        self.damage = damage_of(self.disk, self.segment)
        if self.damage is not None or self.segment.damage is not None:
            remember_damage(self.disk, self.directory, self.segment)
        if self.in_turn:
            write_place(self.disk, self.directory, self.segment.base_version)


@dataclass(slots=True, eq=False)
class FlushJob(Job):
    """A job that syncs what durability `os` has written."""

    file: SharedFile
    sequence: int

    def run(self) -> None:
        """Sync the file."""
        self.file.file.sync()
