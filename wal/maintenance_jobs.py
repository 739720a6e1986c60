"""The jobs of maintenance: each knows all it needs and touches no state, so it runs in any thread.

When they are due, and what is true once they are done, is `wal.maintenance`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass

from wal.checkpoint import Checkpoint, Witness, write_checkpoint, write_witness
from wal.disk import Disk, File
from wal.errors import LogDamaged
from wal.index import ActiveIndex, encode_index
from wal.jobs import make_spare
from wal.scrub import damage_of, remember_damage
from wal.segment import DELETED_SUFFIX, Segment, SharedFile


class Job:
    """Work for a thread; `run` may raise DiskError."""

    def run(self) -> None:
        """Do the work."""
        raise NotImplementedError


@dataclass(slots=True, eq=False)
class IndexJob(Job):
    """Write the index of a closed segment; no sync, because a torn one is known by its CRC and rebuilt."""

    disk: Disk
    segment: Segment
    index: ActiveIndex
    vnode_id: int

    def run(self) -> None:
        """Encode and write."""
        segment = self.segment
        data = encode_index(
            self.index, vnode_id=self.vnode_id, base_version=segment.base_version,
            end_position=segment.end_position, next_version=segment.next_version, seed=segment.seed,
        )  # fmt: skip
        file = self.disk.open(segment.index_path, create=True)
        try:
            file.truncate(0)
            file.write_at(0, [data])
        finally:
            file.close()


@dataclass(slots=True, eq=False)
class CheckpointJob(Job):
    """Write a checkpoint; for durability `os` sync the log first, because it must not promise more."""

    disk: Disk
    directory: str
    checkpoint: Checkpoint
    sync_first: SharedFile | None
    sequence: int
    """What `sync_first` makes durable: the frames below it."""

    def run(self) -> None:
        """Sync when needed, then write."""
        if self.sync_first is not None:
            self.sync_first.file.sync()
        write_checkpoint(self.disk, self.directory, self.checkpoint)


@dataclass(slots=True, eq=False)
class WitnessJob(Job):
    """Write down how far the log is synced, and look how much room is left."""

    disk: Disk
    directory: str
    witness: Witness | None
    free_bytes: int = 0

    def run(self) -> None:
        """Write, measure."""
        if self.witness is not None:
            write_witness(self.disk, self.directory, self.witness)
        self.free_bytes = self.disk.free_bytes(self.directory)


@dataclass(slots=True, eq=False)
class SpareJob(Job):
    """Reserve room for the next segment under a temporary name."""

    disk: Disk
    path: str
    capacity: int
    file: File | None = None

    def run(self) -> None:
        """Make the file and sync it, so that the roll has less to wait for."""
        self.file = make_spare(self.disk, self.path, self.capacity)
        self.file.sync()


@dataclass(slots=True, eq=False)
class RenameJob(Job):
    """Give retired segments their last name; what retired them must be durable before."""

    disk: Disk
    directory: str
    segments: list[Segment]
    sync_first: SharedFile | None
    sequence: int

    def run(self) -> None:
        """Rename what is still there, and make it durable."""
        if self.sync_first is not None:
            self.sync_first.file.sync()
        for segment in self.segments:
            for path in (segment.index_path, segment.path):
                if self.disk.exists(path):
                    self.disk.rename(path, path + DELETED_SUFFIX)
        self.disk.sync_directory(self.directory)


@dataclass(slots=True, eq=False)
class UnlinkJob(Job):
    """Remove deleted files; readers keep what they have open."""

    disk: Disk
    paths: list[str]

    def run(self) -> None:
        """Remove what is still there."""
        for path in self.paths:
            if self.disk.exists(path):
                self.disk.remove(path)


@dataclass(slots=True, eq=False)
class ScrubJob(Job):
    """Read a sealed segment again and check every CRC."""

    disk: Disk
    directory: str
    segment: Segment
    damage: LogDamaged | None = None

    def run(self) -> None:
        """Read and check all of it; remember what is wrong."""
        self.damage = damage_of(self.disk, self.segment)
        if self.damage is not None:
            remember_damage(self.disk, self.directory, self.segment)


@dataclass(slots=True, eq=False)
class FlushJob(Job):
    """Make durable what durability `os` has written."""

    file: SharedFile
    sequence: int

    def run(self) -> None:
        """Sync."""
        self.file.file.sync()
