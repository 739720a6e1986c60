"""Files that an interrupted write left in a log's directory, or that nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterable

from wal.disk import Disk
from wal.segment import PART_SUFFIX, SUFFIX, base_version_of

TEMPORARY_SUFFIX = ".tmp"


def remove_temporaries(disk: Disk, directory: str, names: Iterable[str]) -> list[str]:
    """Remove the files that never got their last name; return a note on each.  Raises: DiskError."""
    notes = []
    for name in names:
        if name.endswith(TEMPORARY_SUFFIX):
            disk.remove(f"{directory}/{name}")
            notes.append(f"removed {name}, left by an interrupted write")
    return notes


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
