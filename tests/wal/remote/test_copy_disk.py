"""A copy in an object store is read as the data directory that a restore would make of it."""

from __future__ import annotations

import pytest

from tests.wal.remote.copies import Node, restored
from tests.wal.test_tiering import checkpointed
from wal.disk_errors import NoSuchFile
from wal.errors import StoreError
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.offline_log import OfflineLog, open_copied, open_offline
from wal.remote.copy_disk import CopyDisk, CopyFile, Part
from wal.remote.formats import RemoteDamaged
from wal.whole_files import read_file

LOG = "default/vnode-0"


def copied(count: int = 12) -> Node:
    """Return a node whose copy has closed segments, a checkpoint, and chunks of the newest one."""
    node = Node(MemoryObjects())
    node.record(b"catalogue")
    node.append(*[b"%d" % number + b"x" * 20_000 for number in range(count)])
    checkpointed(node)
    node.append(*[b"%d" % number + b"y" * 5_000 for number in range(5)])
    node.round()
    node.append(b"after the cut")
    node.round()
    return node


def found_in(log: OfflineLog, stream_id: int = 7) -> list[tuple[int, ...]]:
    begin, end = log.bounds(stream_id)
    return [(begin, end), *(place[:-1] for place in log.places(stream_id, begin, end))]


def test_the_files_are_those_that_a_restore_makes() -> None:
    node = copied()
    disk, copy = restored(node.objects), CopyDisk(node.objects, "cluster")
    for folder in ("meta", LOG):
        names = [name for name in disk.list(f"data/{folder}") if name != "ANOTHER-HISTORY"]
        shown = copy.list(f"{copy.root}/{folder}")
        assert [name for name in names if name in shown] == shown
        assert {name for name in names if name.endswith((".wal", ".idx"))} <= set(shown)
        for name in shown:
            assert read_file(copy, f"{copy.root}/{folder}/{name}") == read_file(disk, f"data/{folder}/{name}")


def test_a_log_of_the_copy_is_read_as_a_restored_one_is_without_looking_into_its_segments() -> None:
    node = copied()
    disk, copy = restored(node.objects), CopyDisk(node.objects, "cluster")
    node.objects.calls.clear()
    log = open_copied(copy, f"{copy.root}/{LOG}", vnode_id=0)
    assert found_in(log) == found_in(open_offline(disk, f"data/{LOG}", vnode_id=0, is_running=False))
    assert log.bounds(7) == (0, 18)
    asked = [call.key for call in node.objects.calls]
    assert not [key for key in asked if "/seg/" in key and key.endswith(".wal")]


def test_what_has_left_the_disk_is_in_the_copy_as_the_rest() -> None:
    node = copied()
    before = found_in(open_copied(CopyDisk(node.objects, "cluster"), f"memory/cluster/{LOG}", vnode_id=0))
    assert len(node.tier()) > 1
    node.round()
    assert (
        found_in(open_copied(CopyDisk(node.objects, "cluster"), f"memory/cluster/{LOG}", vnode_id=0))
        == before
    )


def test_reads_across_chunks_give_the_bytes_of_one_file() -> None:
    store = MemoryObjects()
    store.create("a", b"01234")
    store.create("b", b"56789")
    file = CopyFile("f", store, [Part("a", 0, 5), Part("b", 5, 5)], ahead_bytes=0)
    assert [file.read_at(3, 4), file.read_at(9, 4), file.read_at(10, 1), file.size()] == [
        b"3456",
        b"9",
        b"",
        10,
    ]


def test_small_reads_that_follow_each_other_are_one_request() -> None:
    store = MemoryObjects()
    store.create("a", bytes(1_000))
    file = CopyFile("f", store, [Part("a", 0, 1_000)])
    for position in range(0, 1_000, 10):
        assert file.read_at(position, 10) == bytes(10)
    assert len([call for call in store.calls if call.kind == "read_range"]) == 1


@pytest.mark.parametrize("fault", ["missing", "short"])
def test_an_object_that_is_missing_or_short_is_named(fault: str) -> None:
    store = MemoryObjects()
    store.create("a", bytes(10))
    file = CopyFile("f", store, [Part("a", 0, 20 if fault == "short" else 10)])
    if fault == "missing":
        store.remove("a")
    with pytest.raises(RemoteDamaged, match=r"memory/a: the object (is missing|ends at byte 10)"):
        file.read_at(0, 20)


def test_a_copy_that_is_not_complete_or_not_there_says_so() -> None:
    with pytest.raises(StoreError, match="no copy of a cluster 'cluster' is there"):
        CopyDisk(MemoryObjects(), "cluster")
    node = Node(MemoryObjects())
    node.uploader.take_over(node.views(), 0)
    with pytest.raises(StoreError, match="nothing was copied yet"):
        CopyDisk(node.objects, "cluster")
    node.record(b"catalogue")
    node.append(*[b"x" * 20_000] * 12)
    node.round(budget_bytes=1)
    copy = CopyDisk(node.objects, "cluster")
    with pytest.raises(StoreError, match=r"not complete yet: [0-9]+ segments of default/vnode-0"):
        copy.list(f"{copy.root}/{LOG}")


def test_a_file_or_a_log_that_is_not_in_the_copy_is_no_such_file() -> None:
    copy = CopyDisk(copied().objects, "cluster")
    for path in (f"{copy.root}/{LOG}/none.wal", f"{copy.root}/default/vnode-9/a.wal"):
        with pytest.raises(NoSuchFile):
            copy.open(path, read_only=True)
    assert not copy.exists(f"{copy.root}/{LOG}/none.wal")
    assert (copy.free_bytes(copy.root), copy.total_bytes(copy.root)) == (0, 0)


def test_a_damaged_index_is_made_again_from_the_segment() -> None:
    node = copied()

    def spoil(call: ObjectCall) -> ObjectFault | None:
        return ObjectFault.DAMAGED if call.key.endswith(".idx") else None

    copy = CopyDisk(node.objects, "cluster")
    expected = found_in(open_copied(copy, f"{copy.root}/{LOG}", vnode_id=0))
    node.objects.hook = spoil
    assert found_in(open_copied(copy, f"{copy.root}/{LOG}", vnode_id=0)) == expected
