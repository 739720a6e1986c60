"""A backup with one change anywhere: a restore refuses it with a sentence, or restores the right state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from tests.wal.backups import STREAM, back_up, clock, make, write
from tests.wal.logs import commit
from tests.wal.stores import OPTIONS, open_store
from wal.backup_manifest import MANIFEST, BackupError, backups_in
from wal.disk import DiskError
from wal.errors import StoreError
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL
from wal.restore import Restore
from wal.store_marker import MARKER

STEP = int(os.environ.get("KAWAL_DAMAGE_STEP", "499"))
"""The distance between the bytes of large files that are tried; small ones are tried whole."""

WHOLE_BYTES = 3_000

Change = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def backed_up() -> tuple[MemoryDisk, str, list[bytes], int]:
    """Return a disk with only a backup on it, its path, the catalogue's records and the vnode's end."""
    disk = MemoryDisk()
    store, log = make(disk, commits=4)
    records = [b"record %d" % number for number in range(12)]
    for number, record in enumerate(records):
        store.catalogue.append(record)
        commit(store.catalogue.log)
        if number == 6:
            job = store.catalogue.begin_snapshot([b"sum"])
            job.run()
            store.catalogue.snapshot_done(job)
    write(log, 2, b"y" * 100)
    path = back_up(disk, clock()).path
    return disk.crash(KEEP_ALL), path, [b"sum", *records[7:]], log.high_watermark(STREAM)


def restored(disk: MemoryDisk, path: str) -> tuple[list[bytes], int] | str:
    """Return the catalogue's records and the vnode's end after a restore, or the sentence that refused it."""
    try:
        for _ in Restore(disk, path, "again").run():
            pass
    except (StoreError, DiskError) as error:
        assert not disk.exists(f"again/{MARKER}")  # without it, it is no data directory
        return str(error)
    store = open_store(disk, "again")
    log = store.open_vnode("default", 0, now_ms=0, options=OPTIONS)
    assert log.damage is None
    return list(store.catalogue.records), log.high_watermark(STREAM)


def places(size: int) -> Iterator[int]:
    """Yield the bytes that are changed in a file of this size."""
    return iter(range(0, size, 1 if size <= WHOLE_BYTES else STEP))


def changes(data: bytes) -> Iterator[tuple[str, Change]]:
    """Yield every change of a file that is tried."""
    for position in places(len(data)):
        bit = 1 << position % 8

        def flip(old: bytes, position: int = position, bit: int = bit) -> bytes:
            return old[:position] + bytes([old[position] ^ bit]) + old[position + 1 :]

        def cut(old: bytes, position: int = position) -> bytes:
            return old[:position]

        yield f"a bit of byte {position}", flip
        yield f"cut at {position}", cut
    yield "a byte too many", lambda old: old + b"\0"


def changed(disk: MemoryDisk, path: str, change: Change) -> MemoryDisk:
    after = disk.crash(KEEP_ALL)
    file = after.open(path)
    data = change(file.read_at(0, file.size()))
    file.truncate(0)
    file.write_at(0, [data])
    file.sync()
    file.close()
    return after


def files_of(disk: MemoryDisk, backup: str) -> list[str]:
    return [path for path in disk.files() if path.startswith(f"/{backup}/")]


def test_the_backup_has_a_snapshot_and_a_log_of_the_catalogue(
    backed_up: tuple[MemoryDisk, str, list[bytes], int],
) -> None:
    disk, path, records, end = backed_up
    names = {name.rpartition("/")[2].partition(".")[0] for name in files_of(disk, f"{path}/meta")}
    assert any(name.startswith("snapshot") for name in names), names
    assert any(name.isdigit() for name in names), names
    assert restored(disk.crash(KEEP_ALL), path) == (records, end)


def test_a_backup_with_any_changed_or_cut_file_is_refused_or_restored_right(
    backed_up: tuple[MemoryDisk, str, list[bytes], int],
) -> None:
    disk, path, records, end = backed_up
    tried = refused = 0
    for name in files_of(disk, path):
        for what, change in changes(disk.contents(name)):
            found = restored(changed(disk, name, change), path)
            tried += 1
            if found == (records, end):
                continue
            assert isinstance(found, str), f"{name}, {what}: {found}"
            assert name.removeprefix("/") in found, f"{name}, {what}: {found}"
            refused += 1
    assert refused > tried * 0.9
    assert tried > 500


def test_a_backup_without_one_of_its_files_is_refused(
    backed_up: tuple[MemoryDisk, str, list[bytes], int],
) -> None:
    disk, path, _, _ = backed_up
    for name in files_of(disk, path):
        after = disk.crash(KEEP_ALL)
        after.remove(name)
        found = restored(after, path)
        assert isinstance(found, str), name
        assert "missing" in found or MANIFEST in found
        if name.endswith(MANIFEST):
            assert backups_in(after, path.rpartition("/")[0]) == []
            with pytest.raises(BackupError):
                Restore(after, path, "again")
