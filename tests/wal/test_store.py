"""The data directory: made once, owned by one process, refused when it is foreign or incomplete."""

from __future__ import annotations

import errno
import json

import pytest

from tests.wal.logs import batch, commit, put, read_all
from tests.wal.stores import IDENTITY, open_store
from wal.disk_errors import DiskError
from wal.errors import (
    ForeignDirectory,
    MetadataLost,
    NotUsable,
    StoreError,
    StoreInUse,
    UnknownFormat,
    VnodeMissing,
)
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.store import Store, vnodes_in
from wal.store_marker import STORE_FORMAT, StoreIdentity, marker_format


def test_an_empty_directory_becomes_a_store_and_keeps_its_identity() -> None:
    disk = MemoryDisk()
    open_store(disk).close(0)

    other = StoreIdentity(cluster_id="other", node_id=9, secret="00")
    store = open_store(disk, identity=other)

    assert store.identity == IDENTITY


def test_missing_parent_directories_are_made() -> None:
    disk = MemoryDisk()

    open_store(disk, "a/b/c")

    assert disk.exists("a/b/c/kawal.json")


def test_catalogue_records_come_back_in_order() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    for record in (b"one", b"two", b""):
        store.catalogue.append(record)
    commit(store.catalogue.log)
    store.close(0)

    assert open_store(disk).catalogue.records == [b"one", b"two", b""]


def test_a_snapshot_replaces_the_records_before_it() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    for number in range(10):
        store.catalogue.append(b"old %d" % number)
    commit(store.catalogue.log)
    job = store.catalogue.begin_snapshot([b"all"])
    store.catalogue.append(b"new")
    commit(store.catalogue.log)
    job.run()
    store.catalogue.snapshot_done(job)
    store.close(0)

    assert open_store(disk).catalogue.records == [b"all", b"new"]


def test_vnodes_are_found_and_reopened() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    store.create_vnode("db-1", 0)
    store.create_vnode("db-1", 1)
    log = store.open_vnode("db-1", 1, now_ms=0)
    data = batch(body=b"hello")
    log.append(1, data)
    commit(log)
    log.close(0)
    store.close(0)

    again = open_store(disk)

    assert again.vnodes() == [("db-1", 0), ("db-1", 1)]
    assert read_all(again.open_vnode("db-1", 1, now_ms=0), 1) == bytes(data)


def test_what_is_no_vnode_is_passed_over() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    store.create_vnode("db", 3)
    for path in ("data/notes", "data/run.log", "data/db/vnode-x", "data/db/vnode-"):
        put(disk, path, b"a stray file")
    for path in ("data/lost+found", "data/lost+found/vnode-1", "data/other"):
        disk.make_directory(path)

    assert store.vnodes() == list(vnodes_in(disk, "data")) == [("db", 3)]


def test_a_database_that_cannot_be_read_is_told() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    store.create_vnode("db", 3)
    disk.faults.append(failing("list", errno.EACCES, path="data/db"))

    with pytest.raises(DiskError):
        store.vnodes()


def test_a_removed_vnode_is_gone() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    store.create_vnode("db", 0)
    log = store.open_vnode("db", 0, now_ms=0)
    log.append(1, batch())
    commit(log)
    log.close(0)

    store.remove_vnode("db", 0)

    assert store.vnodes() == []


def test_a_missing_vnode_directory_is_reported() -> None:
    with pytest.raises(VnodeMissing, match="directory is missing"):
        open_store(MemoryDisk()).open_vnode("db", 3, now_ms=0)


def test_a_second_process_is_told_who_holds_the_store() -> None:
    disk = MemoryDisk()
    open_store(disk)

    with pytest.raises(StoreInUse, match="in use by"):
        open_store(disk)


def test_sockets_that_an_interrupted_first_start_has_left_are_ours() -> None:
    disk = MemoryDisk()
    disk.make_directory("data")
    put(disk, "data/worker-1.http.sock", b"")
    open_store(disk)


def test_a_directory_with_other_files_is_not_touched() -> None:
    disk = MemoryDisk()
    disk.make_directory("data")
    put(disk, "data/holiday.jpg", b"sun")

    with pytest.raises(ForeignDirectory, match=r"'holiday\.jpg' is in it"):
        open_store(disk)

    assert disk.list("data") == ["holiday.jpg"]


def test_a_lost_marker_beside_a_catalogue_is_reported() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    store.catalogue.append(b"record")
    commit(store.catalogue.log)
    store.close(0)
    disk.remove("data/kawal.json")

    with pytest.raises(MetadataLost, match="marker"):
        open_store(disk)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (json.dumps({"format": 9}).encode(), UnknownFormat, "has format 9, .* or a newer one"),
        (
            json.dumps({"format": 0}).encode(),
            UnknownFormat,
            "has format 0, .* use the version that wrote it$",
        ),
        (json.dumps({"format": True}).encode(), UnknownFormat, "has format True"),
        (json.dumps({"format": "2"}).encode(), UnknownFormat, "has format '2'"),
        (b"{", MetadataLost, "not a valid marker"),
        (b"{}", MetadataLost, "not a valid marker"),
        (b"[]", MetadataLost, "not a valid marker"),
        (b'{"format": 1}', MetadataLost, "not a valid marker"),
    ],
)
def test_a_marker_of_another_kind_is_refused(content: bytes, error: type[StoreError], words: str) -> None:
    disk = MemoryDisk()
    open_store(disk).close(0)
    put(disk, "data/kawal.json", content)

    with pytest.raises(error, match=words):
        open_store(disk)


def of_format(disk: MemoryDisk, version: int) -> None:
    """Turn the directory into one of another format, with the same files."""
    content = json.loads(disk.contents("data/kawal.json"))
    put(disk, "data/kawal.json", json.dumps({**content, "format": version}).encode())


def test_a_directory_of_an_older_format_is_brought_to_the_newest_and_keeps_everything() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    store.catalogue.append(b"record")
    commit(store.catalogue.log)
    store.close(0)
    of_format(disk, 1)

    store = open_store(disk)

    assert store.upgraded_from == 1
    assert store.identity == IDENTITY
    assert store.catalogue.records == [b"record"]
    assert marker_format(disk, "data/kawal.json") == STORE_FORMAT
    store.close(0)
    assert open_store(disk).upgraded_from is None


def test_a_crash_while_the_format_is_raised_leaves_the_one_or_the_other() -> None:
    for nth in range(1, 8):
        disk = MemoryDisk()
        open_store(disk).close(0)
        of_format(disk, 1)
        disk.faults += [
            failing(kind, errno.EIO, path="kawal", nth=nth) for kind in ("sync", "rename", "write")
        ]
        try:
            open_store(disk)
        except DiskError:
            after = disk.crash()
            assert marker_format(after, "data/kawal.json") in (1, STORE_FORMAT)
            assert open_store(after).identity == IDENTITY


def test_a_lost_catalogue_directory_is_reported() -> None:
    disk = MemoryDisk()
    open_store(disk).close(0)
    for name in disk.list("data/meta"):
        disk.remove(f"data/meta/{name}")
    disk.remove_directory("data/meta")

    with pytest.raises(MetadataLost, match="catalogue is missing"):
        open_store(disk)


def test_a_file_in_place_of_the_directory_is_reported() -> None:
    disk = MemoryDisk()
    put(disk, "data", b"")

    with pytest.raises(NotUsable):
        open_store(disk)


def test_a_refused_start_releases_the_lock() -> None:
    disk = MemoryDisk()
    open_store(disk).close(0)
    good = disk.open("data/kawal.json").read_at(0, 10_000)
    put(disk, "data/kawal.json", b"{")
    with pytest.raises(MetadataLost):
        open_store(disk)
    put(disk, "data/kawal.json", good)

    assert open_store(disk).identity == IDENTITY


def test_the_catalogue_of_another_node_is_kept_in_memory_and_the_logs_here() -> None:
    disk = MemoryDisk()
    store = Store.open(disk, "data", new_identity=IDENTITY, now_ms=0, records=[b"one", b"two"])
    assert store.catalogue.records == [b"one", b"two"]
    store.have_vnode("db-1", 4)
    store.open_vnode("db-1", 4, now_ms=0).close(0)
    store.close(0)
    assert not [path for path in disk.files() if "/meta/" in path and "used-" not in path]
    store = Store.open(disk, "data", new_identity=IDENTITY, now_ms=0, records=[])
    assert store.vnodes() == [("db-1", 4)]
    store.have_vnode("db-1", 4)
    store.close(0)


def test_a_vnode_that_was_here_is_not_made_anew_for_a_catalogue_elsewhere() -> None:
    disk = MemoryDisk()
    store = Store.open(disk, "data", new_identity=IDENTITY, now_ms=0, records=[])
    store.have_vnode("db-1", 4)
    store.open_vnode("db-1", 4, now_ms=0).abandon()
    path = store.vnode_path("db-1", 4)
    for name in disk.list(path):
        disk.remove(f"{path}/{name}")
    disk.remove_directory(path)
    with pytest.raises(VnodeMissing, match="was in use, but its directory is missing"):
        store.have_vnode("db-1", 4)
    assert not disk.exists(path)
