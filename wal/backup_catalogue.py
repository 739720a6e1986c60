"""The catalogue's records in a copy of its log, read without opening it."""

from __future__ import annotations

from collections.abc import Iterator

from wal.catalogue import CATALOGUE_STREAM, load_snapshots
from wal.disk import Disk, File
from wal.format import (
    ENTRY,
    FIRST_FRAME_POSITION,
    EntryKind,
    FrameKind,
    MetaKind,
    decode_segment_start,
    seed_of,
)
from wal.scan import Scan
from wal.segment import base_version_of, segment_name


def catalogue_records(disk: Disk, folder: str) -> list[bytes]:
    """Return the records of the newest snapshot and the later ones of the log, as a start replays them.

    Raises: DiskError.
    """
    snapshots, _ = load_snapshots(disk, folder)
    records = list(snapshots[0].records) if snapshots else []
    first = snapshots[0].version if snapshots else 0
    bases = sorted(base for name in disk.list(folder) if (base := base_version_of(name)) is not None)
    for base in bases:
        file = disk.open(f"{folder}/{segment_name(base)}", read_only=True)
        try:
            records += [data for version, data in _records_in(file) if version >= first]
        finally:
            file.close()
    return records


def _records_in(file: File) -> Iterator[tuple[int, bytes]]:
    """Yield the catalogue's records in a segment, each with its version."""
    header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
    if header is None:
        return
    scan = Scan(file, seed=seed_of(header.salt), position=FIRST_FRAME_POSITION, sequence=header.base_sequence)
    for frame in scan:
        if frame.header.kind != FrameKind.DATA:
            continue
        assert frame.payload is not None
        start = 0
        for entry in ENTRY.iter_unpack(frame.table):
            end = start + entry[6]
            is_record = entry[0] == CATALOGUE_STREAM and entry[1] == EntryKind.META
            if is_record and frame.payload[start] == MetaKind.OPAQUE:
                yield frame.header.base_version + entry[9], bytes(frame.payload[start + 1 : end])
            start = end
