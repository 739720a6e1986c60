"""The jobs of maintenance: each has all it needs and touches no state, so it can run in any thread.

`wal.maintenance` decides when they are due, and applies what they did.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from wal.checkpoint import Checkpoint, Witness, write_checkpoint, write_witness
from wal.disk import Disk, DiskError, DiskFull, File
from wal.errors import LogDamaged
from wal.format import FIRST_FRAME_POSITION, decode_segment_start
from wal.index import ActiveIndex
from wal.index_file import decode_index, index_pieces
from wal.index_parts import Part, write_part
from wal.jobs import make_spare
from wal.locate import rebuild_index
from wal.remote_record import RemoteRecord, write_record
from wal.reserve import Reserve
from wal.scrub import damage_of, remember_damage, write_place
from wal.segment import DELETED_SUFFIX, Segment, SharedFile, StoredPart
from wal.whole_files import read_file


class Marks(NamedTuple):
    """The results of recovery from which maintenance continues."""

    generation: int
    """The next checkpoint's generation."""
    witness_generation: int
    """The last witness's generation."""
    sequences: tuple[int, int]
    """The first frames after the two checkpoint generations, older first."""
    witnessed_sequence: int
    """Frames below this sequence were synced, according to witness and checkpoints."""
    clean: bool
    """Whether the log ends where a clean stop left it."""
    scrubbed: int
    """The base version of the segment that the last pass of scrubs read last; -1: none."""
    unsealed: bool
    """Whether no frame declares the newest data frame synced."""
    cost_ns: int
    """The cost of the scan after the newest checkpoint."""


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
    index: ActiveIndex | bytes
    """The index, or the bytes of one that was fetched from the object store."""
    vnode_id: int

    def run(self) -> None:
        """Write the index, a piece at a time."""
        file, position = self.disk.open(self.segment.index_path, create=True), 0
        try:
            file.truncate(0)
            for piece in self._pieces():
                file.write_at(position, [piece])
                position += len(piece)
            file.sync()
        finally:
            file.close()

    def _pieces(self) -> Iterable[bytes]:
        segment, index = self.segment, self.index
        if isinstance(index, bytes):
            return [index]
        return index_pieces(
            index, vnode_id=self.vnode_id, base_version=segment.base_version,
            end_position=segment.end_position, next_version=segment.next_version, seed=segment.seed,
        )  # fmt: skip


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
            for path in segment.paths:
                if self.disk.exists(path):
                    self.disk.rename(path, path + DELETED_SUFFIX)
        self.disk.sync_directory(self.directory)


@dataclass(slots=True, eq=False)
class TierJob(Job):
    """A job that lets a segment's file go, as its bytes were proved to be in the object store.

    The record comes first, durably: from then on a start knows where the bytes are, with or without the file.
    """

    disk: Disk
    directory: str
    segment: Segment
    record: RemoteRecord
    is_renamed: bool = False

    def run(self) -> None:
        """Look at what stays, write the record, and rename the file as if it were retired."""
        segment, record = self.segment, self.record
        data = read_file(self.disk, segment.index_path)
        index = decode_index(data, base_version=segment.base_version, seed=segment.seed)
        if index is None or index.end_position > record.size_bytes:
            raise LogDamaged(segment.index_path, 0, len(data), "the index does not fit the segment's copy")
        self.record = record._replace(created_ms=self._created_ms())
        write_record(self.disk, self.directory, self.record)
        segment.open_shared(self.disk)  # for reads between the loss of its name and the end of the job
        self.disk.rename(segment.path, segment.path + DELETED_SUFFIX)
        self.is_renamed = True
        self.disk.sync_directory(self.directory)

    def _created_ms(self) -> int:
        """Return the time of day in the segment's header.  Raises: LogDamaged, DiskError."""
        file = self.disk.open(self.segment.path, read_only=True)
        try:
            header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
        finally:
            file.close()
        if header is None or header.salt != self.record.salt:
            raise LogDamaged(self.segment.path, 0, FIRST_FRAME_POSITION, "its header is not that of its copy")
        return header.created_ms


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
