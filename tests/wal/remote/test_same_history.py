"""A directory that does not go on where its copy ends is refused, and nothing of the copy is replaced."""

from __future__ import annotations

from random import Random

import pytest

from tests.wal.remote.copies import LARGE, Node, bodies, restored
from wal.disk import Disk
from wal.format import FIRST_FRAME_POSITION
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects
from wal.remote.same_history import RemoteAhead
from wal.remote.uploader import Uploader
from wal.segment import segment_name

LONG = b"x" * 30_000


def again(node: Node, incarnation: str) -> Node:
    """Return the next process on a node's disk, after a power failure."""
    return Node(node.objects, disk=node.disk.crash(DROP_ALL), incarnation=incarnation)


def refused_as(node: Node, said: str) -> None:
    """Take the copy over, which must be refused without a change of the store."""
    before = [(key, node.objects.read(key).data) for key, _ in node.objects.list("")]
    with pytest.raises(RemoteAhead, match=said):
        node.round()
    assert [(key, node.objects.read(key).data) for key, _ in node.objects.list("")] == before


@pytest.mark.parametrize("seed", range(24))
def test_the_first_server_never_replaces_what_a_restored_one_has_acknowledged(seed: int) -> None:
    random = Random(seed)

    def write(node: Node, name: bytes, count: int) -> None:
        for number in range(count):
            node.append(b"%s %d " % (name, number) + b"x" * random.choice([10, 5_000, 30_000]))

    first = Node(MemoryObjects(), incarnation="first")
    write(first, b"both", random.randrange(1, 12))
    first.round()
    second = Node(first.objects, disk=restored(first.objects), incarnation="second")
    write(second, b"second", random.randrange(8))
    second.round()
    write(first, b"first", random.randrange(30))
    refused_as(again(first, "third"), "older than the copy|another history than its copy")
    assert bodies(Node(first.objects, disk=restored(first.objects)).log) == bodies(second.log)
    second.append(b"goes on")
    second.round()  # it was not fenced by the one that was refused


def test_as_many_frames_in_segments_that_are_closed_are_another_history() -> None:
    first = Node(MemoryObjects())
    first.append(b"both")
    first.round()
    second = Node(first.objects, disk=restored(first.objects), incarnation="b")
    second.append(*[LONG] * 6)
    second.round()
    first.append(*[LONG + b"of the first"] * 12)
    assert len(first.log.view().bases) >= len(second.log.view().bases) > 1
    refused_as(again(first, "c"), "another history than its copy")


def test_a_segment_that_was_closed_after_the_cut_is_the_same_history() -> None:
    node = Node(MemoryObjects())
    node.append(b"one", b"two")
    node.round()
    node.append(*[LONG] * 8)
    other = again(node, "b")
    other.round(budget_bytes=LARGE)
    assert bodies(Node(node.objects, disk=restored(node.objects)).log) == [b"one", b"two", *[LONG] * 8]


def test_segments_that_retention_has_removed_are_not_compared() -> None:
    node = Node(MemoryObjects())
    node.append(b"one")
    node.round()
    node.append(*[LONG] * 8)
    node.log.set_log_start(7, 8)
    node.commit(node.log)
    for _ in range(3):
        node.log.retire_segments()
        node.commit(node.log)
    assert node.log.view().bases[0] > 0
    other = again(node, "b")
    other.round()
    assert bodies(Node(node.objects, disk=restored(node.objects)).log) == [LONG]


def flip(disk: Disk, base: int) -> None:
    """Damage the first frame of a segment."""
    file = disk.open(f"data/default/vnode-0/{segment_name(base)}")
    byte = file.read_at(FIRST_FRAME_POSITION + 200, 1)[0]
    file.write_at(FIRST_FRAME_POSITION + 200, [bytes([byte ^ 1])])
    file.sync()
    file.close()


def test_damage_on_the_disk_is_no_other_history() -> None:
    node = Node(MemoryObjects())
    node.append(b"one", b"two", b"three")
    node.round()
    flip(node.disk, 0)
    other = Uploader(
        node.objects, node.disk, path="data", identity=node.store.identity, incarnation="b",
        delete_delay_ms=1_000,
    )  # fmt: skip
    other.take_over(node.views(), 0)
    assert bodies(Node(node.objects, disk=restored(node.objects)).log) == [b"one", b"two", b"three"]
