"""The catalogue's log: opaque records, replaced by snapshots from time to time.

    snapshot := header records crc[4]      files snapshot.0, snapshot.1: two generations, the newer counts
    header   := magic[8] format:u16 zeros[6] generation:u64 version:u64 count:u32
    records  := (size:u32 bytes)*

A snapshot holds the sum of all records below `version`. It is synced, renamed and its directory synced before
a segment that it replaces may be deleted; the snapshot before it is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from crc32c import crc32c

from wal.disk import Disk, DiskError
from wal.errors import LogDamaged, MetadataLost
from wal.log import VnodeLog
from wal.maintenance_jobs import Job
from wal.options import MIB, LogOptions
from wal.whole_files import load_generations, replace_file

SNAPSHOT_MAGIC = b"KAWALCAT"
SNAPSHOT_FORMAT = 1
SNAPSHOT_NAMES = ("snapshot.0", "snapshot.1")
SNAPSHOT_TEMPORARY = "snapshot.tmp"
SNAPSHOT_HEADER = struct.Struct("<8sH6xQQI")
SIZE = struct.Struct("<I")

CATALOGUE_STREAM = 0
"""The stream id under which catalogue records are appended."""

READ_BYTES = MIB


class Snapshot(NamedTuple):
    """The sum of the records below `version`."""

    generation: int
    version: int
    records: list[bytes]


class SnapshotJob(Job):
    """A job that writes a snapshot in a thread."""

    def __init__(self, disk: Disk, directory: str, snapshot: Snapshot, records: Iterable[bytes]) -> None:
        """`snapshot` is still without its records, which the thread takes from `records`."""
        self.disk = disk
        self.directory = directory
        self.snapshot = snapshot
        self.records = records
        self.size_bytes = 0

    def run(self) -> None:
        """Write the snapshot so that a crash leaves the old generation or the new one."""
        name = SNAPSHOT_NAMES[self.snapshot.generation % len(SNAPSHOT_NAMES)]
        data = encode_snapshot(self.snapshot._replace(records=list(self.records)))
        self.size_bytes = len(data)
        replace_file(self.disk, self.directory, name, data, temporary=SNAPSHOT_TEMPORARY)


class Catalogue:
    """The catalogue's records at start, and the log that takes new ones; made with `open`."""

    def __init__(self, disk: Disk, directory: str, log: VnodeLog, snapshots: list[Snapshot]) -> None:
        self.log = log
        self._disk = disk
        self._directory = directory
        self._snapshots = [snapshot._replace(records=[]) for snapshot in snapshots]
        self.records: list[bytes] = list(snapshots[0].records) if snapshots else []
        """The records found at the start: the snapshot's and the later ones; the caller clears the list."""
        self.snapshot_bytes = sum(map(len, self.records))
        """The size of the newest snapshot."""
        self.bytes_since_snapshot = 0

    @classmethod
    def open(cls, disk: Disk, directory: str, *, options: LogOptions, now_ms: int) -> Catalogue:
        """Recover the log and read all records.

        Raises: MetadataLost when records are damaged or missing; DiskError.
        """
        snapshots, odd = load_snapshots(disk, directory)
        log = VnodeLog.open(disk, directory, options=options, now_ms=now_ms)
        start = snapshots[0].version if snapshots else 0
        damage = log.damage_from(start)
        if damage is not None:
            raise MetadataLost(f"the catalogue is damaged: {damage}")
        if (odd and not snapshots) or log.first_version > start:
            raise MetadataLost(
                f"{directory}: records below version {log.first_version} are needed, but no valid snapshot "
                f"holds them (not valid: {', '.join(odd) or 'none'}); restore the directory from a backup"
            )
        catalogue = cls(disk, directory, log, snapshots)
        try:
            catalogue._replay(start)
        except (LogDamaged, DiskError) as error:
            raise MetadataLost(f"the catalogue is damaged: {error}") from error
        return catalogue

    def _replay(self, version: int) -> None:
        while version < self.log.next_version:
            entries = self.log.read_versions(version, READ_BYTES)
            if not entries:
                break
            for entry in entries:
                payload = entry.opaque
                if payload is not None and entry.stream_id == CATALOGUE_STREAM:
                    self.records.append(bytes(payload))
                    self.bytes_since_snapshot += len(payload)
            version = entries[-1].version + 1

    def append(self, record: bytes) -> int:
        """Add a record to the log's open frame; return its version.  Raises: as VnodeLog.append."""
        self.bytes_since_snapshot += len(record)
        return self.log.append_meta(CATALOGUE_STREAM, record)

    def begin_snapshot(self, records: Iterable[bytes]) -> SnapshotJob:
        """Return a job that writes `records` in place of all that is visible in the log now.

        They are iterated over in the job's thread.
        """
        generation = self._snapshots[0].generation + 1 if self._snapshots else 0
        snapshot = Snapshot(generation, self.log.next_version, [])
        return SnapshotJob(self._disk, self._directory, snapshot, records)

    def snapshot_done(self, job: SnapshotJob) -> None:
        """Take back a job whose `run` returned; segments below the snapshot before it may be deleted."""
        self._snapshots = [job.snapshot, *self._snapshots[:1]]
        self.bytes_since_snapshot = 0
        self.snapshot_bytes = job.size_bytes
        if len(self._snapshots) > 1:
            self.log.retire_below(self._snapshots[1].version)


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the bytes of a snapshot file."""
    parts = [
        SNAPSHOT_HEADER.pack(
            SNAPSHOT_MAGIC, SNAPSHOT_FORMAT, snapshot.generation, snapshot.version, len(snapshot.records)
        )
    ]
    for record in snapshot.records:
        parts += (SIZE.pack(len(record)), record)
    data = b"".join(parts)
    return data + SIZE.pack(crc32c(data))


def decode_snapshot(data: bytes) -> Snapshot | None:
    """Return the snapshot in a file's bytes, or None when they are not a whole one of this format."""
    end = len(data) - SIZE.size
    if end < SNAPSHOT_HEADER.size or crc32c(memoryview(data)[:end]) != SIZE.unpack_from(data, end)[0]:
        return None
    magic, version, generation, next_version, count = SNAPSHOT_HEADER.unpack_from(data)
    if magic != SNAPSHOT_MAGIC or version != SNAPSHOT_FORMAT:
        return None
    records, position = [], SNAPSHOT_HEADER.size
    for _ in range(count):
        (size,) = SIZE.unpack_from(data, position)
        records.append(data[position + SIZE.size : position + SIZE.size + size])
        position += SIZE.size + size
    return Snapshot(generation, next_version, records) if position == end else None


def load_snapshots(disk: Disk, directory: str) -> tuple[list[Snapshot], list[str]]:
    """Return the valid generations, newest first, and the names of invalid files."""
    return load_generations(disk, directory, SNAPSHOT_NAMES, decode_snapshot)
