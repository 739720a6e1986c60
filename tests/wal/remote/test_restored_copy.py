"""The files of one copy: measured before they are written, and damage named by its object."""

from __future__ import annotations

import pytest

from tests.wal.remote.copies import Node
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.remote.formats import RemoteDamaged
from wal.remote.restored_copy import RestoredCopy

LOG = "default/vnode-0"


def opened(node: Node) -> tuple[RestoredCopy, MemoryDisk]:
    disk = MemoryDisk()
    for folder in ("data", "data/default", f"data/{LOG}"):
        disk.make_directory(folder)
    return RestoredCopy(node.objects, disk, cluster_id="cluster", data="data", at_ms=None), disk


def copied() -> Node:
    node = Node(MemoryObjects())
    node.append(*[b"x" * 30_000] * 6)
    node.round()
    return node


def test_what_is_measured_is_what_is_written() -> None:
    copy, disk = opened(copied())
    assert copy.measure() == sum(copy.size_of(name) for name in copy.cut.logs)
    assert sum(copy.write_log(LOG)) == copy.size_of(LOG) > 6 * 30_000
    assert any(name.endswith(".wal") for name in disk.list(f"data/{LOG}"))


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [(ObjectFault.DAMAGED, "its checksum is"), (ObjectFault.SHORT, "the object ends at")],
)
def test_other_bytes_are_an_error_that_names_the_object(fault: ObjectFault, sentence: str) -> None:
    node = copied()
    copy, _ = opened(node)
    copy.measure()
    node.objects.hook = lambda call: fault if call.kind == "read_range" else None
    with pytest.raises(RemoteDamaged, match=f"memory/cluster/{LOG}/seg/.*{sentence}"):
        list(copy.write_log(LOG))


def test_a_copy_without_a_journal_replays_nothing() -> None:
    copy, _ = opened(copied())
    assert list(copy.replay(lambda _log: True)) == []
    assert copy.new_logs == []
