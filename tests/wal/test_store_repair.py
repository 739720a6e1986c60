"""Repair of a whole data directory."""

from dataclasses import replace

import pytest

from tests.wal.logs import batch, commit, read_all
from tests.wal.stores import IDENTITY, OPTIONS, open_store
from wal.errors import ForeignDirectory, MetadataLost, StoreInUse, VnodeMissing
from wal.memory_disk import MemoryDisk
from wal.store_repair import RepairedLog, repair_store

SEGMENT = "data/default/vnode-1/00000000000000000000.wal"


def stored() -> MemoryDisk:
    """Return a data directory with two vnodes of two batches each, cleanly stopped."""
    disk = MemoryDisk()
    store = open_store(disk)
    for vnode_id in range(2):
        store.create_vnode("default", vnode_id)
        log = store.open_vnode("default", vnode_id, now_ms=0)
        for body in (b"first", b"second"):
            log.append(1, batch(body=body))
            commit(log)
        log.close(0)
    store.close(0)
    return disk


def repaired(disk: MemoryDisk, *, accept_loss: bool) -> dict[str, RepairedLog]:
    return {log.directory: log for log in repair_store(disk, "data", now_ms=0, accept_loss=accept_loss)}


def spoil(disk: MemoryDisk) -> None:
    for path in disk.list("data/default/vnode-1"):
        if path.startswith("checkpoint"):
            disk.remove(f"data/default/vnode-1/{path}")
    disk.damage(SEGMENT, disk.contents(SEGMENT).index(b"first"), b"?")


def test_a_good_directory_is_left_alone() -> None:
    disk = stored()
    logs = repaired(disk, accept_loss=True)
    assert list(logs) == ["data/meta", "data/default/vnode-0", "data/default/vnode-1"]
    assert all(not log.report.damages and log.report.mended for log in logs.values())


def test_files_that_somebody_put_there_are_passed_over() -> None:
    disk = stored()
    disk.open("data/notes", create=True).close()
    disk.make_directory("data/lost+found")

    assert len(repaired(disk, accept_loss=True)) == 3


def test_damage_is_told_and_kept_until_the_loss_is_accepted() -> None:
    disk = stored()
    spoil(disk)
    told = repaired(disk, accept_loss=False)["data/default/vnode-1"].report
    assert (len(told.damages), told.mended) == (1, False)

    mended = repaired(disk, accept_loss=True)["data/default/vnode-1"].report
    assert (mended.mended, mended.lost_frames) == (True, 1)

    store = open_store(disk)
    assert store.identity == IDENTITY
    assert b"second" in read_all(store.open_vnode("default", 1, now_ms=0, options=OPTIONS), 1)


def test_a_directory_in_use_is_not_touched() -> None:
    disk = stored()
    store = open_store(disk)
    with pytest.raises(StoreInUse):
        repaired(disk, accept_loss=True)
    store.close(0)
    assert repaired(disk, accept_loss=True)


@pytest.mark.parametrize(("path", "error"), [("nowhere", ForeignDirectory), ("empty", MetadataLost)])
def test_what_is_no_data_directory_is_refused_and_not_made(path: str, error: type[Exception]) -> None:
    disk = MemoryDisk()
    disk.make_directory("empty")
    with pytest.raises(error):
        list(repair_store(disk, path, now_ms=0, accept_loss=True))
    assert not disk.exists("nowhere")


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("data/default/vnode-0/checkpoint.0", "data/default/vnode-1/checkpoint.0"),
        ("data/meta/checkpoint.0", "data/default/vnode-0/checkpoint.0"),
    ],
)
def test_checkpoints_of_two_logs_that_have_changed_places_cost_no_record(path: str, other: str) -> None:
    disk = rolled()
    logs = ["data/meta", "data/default/vnode-0", "data/default/vnode-1"]
    before = {log: segments(disk, log) for log in logs}
    swap(disk, path, other)

    reports = repaired(disk, accept_loss=True)

    assert [log.report.lost_frames for log in reports.values()] == [0, 0, 0]
    assert {log: segments(disk, log) for log in logs} == before
    store = open_store(disk)
    shown = [read_all(store.open_vnode("default", vnode_id, now_ms=0), 1) for vnode_id in range(2)]
    assert [data.count(b"record") for data in shown] == [12, 20]


def rolled() -> MemoryDisk:
    """Return a data directory with two vnodes of some segments, cleanly stopped."""
    disk = MemoryDisk()
    store = open_store(disk)
    for vnode_id in range(2):
        store.create_vnode("default", vnode_id)
        log = store.open_vnode("default", vnode_id, now_ms=0, options=replace(OPTIONS, segment_bytes=8_192))
        for _ in range(12 + 8 * vnode_id):
            log.append(1, batch(body=b"record" + bytes(1_000)))
            commit(log)
        log.close(0)
    store.close(0)
    return disk


def segments(disk: MemoryDisk, directory: str) -> dict[str, bytes]:
    """Return the contents of a log's segments."""
    names = [name for name in disk.list(directory) if ".wal" in name]
    return {name: disk.contents(f"{directory}/{name}").rstrip(b"\0") for name in names}


def swap(disk: MemoryDisk, path: str, other: str) -> None:
    """Let two files change places."""
    for old, new in ((path, "data/aside"), (other, path), ("data/aside", other)):
        disk.rename(old, new)


@pytest.mark.parametrize("lost", ["the vnode", "the database"])
def test_a_vnode_without_a_directory_begins_anew_once_the_loss_is_accepted(lost: str) -> None:
    """A start names this repair, which knew directories alone, and changed nothing."""
    disk = stored()
    for vnode_id in range(2) if lost == "the database" else [1]:
        for name in disk.list(f"data/default/vnode-{vnode_id}"):
            disk.remove(f"data/default/vnode-{vnode_id}/{name}")
        disk.remove_directory(f"data/default/vnode-{vnode_id}")
    if lost == "the database":
        disk.remove_directory("data/default")
    with pytest.raises(VnodeMissing, match=r"directory is missing.*--accept-loss"):
        open_store(disk).open_vnode("default", 1, now_ms=0)
    disk.locks.clear()
    assert not repaired(disk, accept_loss=False)["data/default/vnode-1"].report.mended
    assert repaired(disk, accept_loss=True)["data/default/vnode-1"].report.mended
    log = open_store(disk).open_vnode("default", 1, now_ms=0)
    assert (list(log.streams()), log.damage) == ([], None)
