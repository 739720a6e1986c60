"""Through a disk that is read only everything can be seen and nothing changes."""

from __future__ import annotations

import pytest

from tests.wal.logs import put
from wal.disk import NoSuchFile
from wal.memory_disk import MemoryDisk
from wal.read_only import ReadOnlyDisk


def watched() -> tuple[MemoryDisk, ReadOnlyDisk, list[object]]:
    """Return a disk with a file, the same read only, and what changes on it from now on."""
    disk, effects = MemoryDisk(), list[object]()
    put(disk, "file", b"content")
    disk.observe = effects.append
    return disk, ReadOnlyDisk(disk), effects


def test_files_and_names_are_seen_as_they_are() -> None:
    disk, quiet, _ = watched()
    file = quiet.open("file")
    assert (file.read_at(3, 10), file.read_at_if_cached(0, 3), file.size()) == (b"tent", b"con", 7)
    assert (file.path, file.next_data(2)) == ("file", disk.open("file").next_data(2))
    assert (quiet.exists("file"), quiet.exists("other"), quiet.list("")) == (True, False, disk.list(""))
    assert quiet.free_bytes("file") == disk.free_bytes("file")
    assert quiet.total_bytes("file") == disk.total_bytes("file")
    with pytest.raises(NoSuchFile):
        quiet.open("other")


def test_no_call_changes_anything() -> None:
    disk, quiet, effects = watched()
    file = quiet.open("file", create=True)
    file.write_at(0, [b"changed"])
    file.truncate(1)
    file.allocate(100)
    file.sync()
    file.drop_cache()
    file.close()
    quiet.make_directory("folder")
    quiet.rename("file", "other")
    quiet.link("file", "other")
    quiet.remove("file")
    quiet.remove_directory("folder")
    quiet.sync_directory("")
    quiet.lock("LOCK").release()
    assert (effects, disk.list(""), disk.open("file").read_at(0, 10)) == ([], ["file"], b"content")


def test_a_file_that_is_made_is_empty_and_forgotten() -> None:
    disk, quiet, effects = watched()
    made = quiet.open("new", create=True, exclusive=True)
    made.write_at(0, [b"bytes"])
    assert (made.read_at(0, 5), made.read_at_if_cached(0, 5), made.size()) == (b"", b"", 0)
    assert (made.next_data(4), made.descriptor, quiet.exists("new")) == (4, -1, False)
    made.close()
    assert (effects, disk.exists("new")) == ([], False)
