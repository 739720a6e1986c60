"""Files that an interrupted write left in a log's directory, or that nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterable

from wal.disk import Disk
from wal.remote_record import read_records
from wal.segment import PART_SUFFIX, SUFFIX, Segment, base_version_of

TEMPORARY_SUFFIX = ".tmp"


def remove_temporaries(disk: Disk, directory: str, names: Iterable[str]) -> list[str]:
    """Remove the files that never got their last name; return a note on each.  Raises: DiskError."""
    notes = []
    for name in names:
        if name.endswith(TEMPORARY_SUFFIX):
            disk.remove(f"{directory}/{name}")
            notes.append(f"removed {name}, left by an interrupted write")
    return notes


def adopt_records(disk: Disk, directory: str, names: Iterable[str], segments: Iterable[Segment]) -> set[int]:
    """Note which segments have left the disk; return the base versions of those that a record names.

    A segment that has its file is read from it, whatever its record says.  Raises: DiskError.
    """
    records = read_records(disk, directory, names)
    local = {base_version_of(name) for name in names}
    for segment in segments:
        record = records.get(segment.base_version)
        if record is not None and record.salt == segment.salt and segment.base_version not in local:
            segment.remote, segment.created_ms = record, record.created_ms
    return {segment.base_version for segment in segments if segment.remote is not None}


def remove_parts(disk: Disk, directory: str, names: Iterable[str], wanted: Iterable[int]) -> None:
    """Remove the stored index parts of all segments but the wanted ones, given by their base versions.

    Raises: DiskError.
    """
    keep = set(wanted)
    for name in names:
        if (
            name.endswith(PART_SUFFIX)
            and base_version_of(name.removesuffix(PART_SUFFIX) + SUFFIX) not in keep
        ):
            disk.remove(f"{directory}/{name}")
