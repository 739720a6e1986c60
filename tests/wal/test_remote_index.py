"""Indexes of segments that have left the disk, lost there and fetched again from the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash
from tests.wal.remote.copies import Node, bodies, here
from tests.wal.test_remote_reads import missed, waited_for
from tests.wal.test_tiering import LARGE, checkpointed, filled
from wal.errors import IndexNotLoaded, RemoteReadError, RemoteWaits
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.segment import INDEX_SUFFIX, SUFFIX, segment_name

FOLDER = "data/default/vnode-0"


def index_path(base_version: int) -> str:
    """Return the path of a segment's index."""
    return f"{FOLDER}/{segment_name(base_version).removesuffix(SUFFIX)}{INDEX_SUFFIX}"


def without_indexes(node: Node) -> Node:
    """Return the node after a power failure that took the indexes of its remote segments with it."""
    disk = node.disk.crash(DROP_ALL)
    for base in node.log.view().remote:
        disk.remove(index_path(base))
    return Node(node.objects, disk=disk, incarnation="b")


def index_keys(node: Node) -> list[str]:
    """Return the keys of all indexes in the store."""
    return [key for key in node.objects.objects if key.endswith(INDEX_SUFFIX)]


def tiered() -> tuple[Node, list[bytes], list[int]]:
    """Return a node, what was written, and the segments that have left its disk."""
    node, written = filled()
    return node, written, node.tier()


def test_an_index_that_was_lost_is_fetched_and_stored_again() -> None:
    node, written, left = tiered()
    again = without_indexes(node)
    assert bodies(again.log) == written
    checkpointed(again)
    assert all(again.disk.exists(index_path(base)) for base in left)
    asked = len(again.objects.calls)
    last = Node(node.objects, disk=again.disk.crash(DROP_ALL), incarnation="c")
    assert bodies(last.log) == written
    kinds = [call.key for call in last.objects.calls[asked:] if call.key.endswith(INDEX_SUFFIX)]
    assert kinds == [], "what was stored is not fetched again"


@pytest.mark.parametrize("is_damaged", [False, True])
def test_without_one_in_the_store_it_is_made_again_from_the_frames(is_damaged: bool) -> None:
    node, written, left = tiered()
    again = without_indexes(node)
    for key in index_keys(node):
        found = again.objects.objects.pop(key)
        if is_damaged:
            again.objects.create(key, found.data[:-1] + b"?")
    assert bodies(again.log) == written
    again.commit(again.log)
    assert all(again.disk.exists(index_path(base)) for base in left)


def test_frames_that_are_not_those_that_were_written_make_no_index() -> None:
    node, _, left = tiered()
    again = without_indexes(node)
    for key in index_keys(node):
        del again.objects.objects[key]
    record = again.log.view().remote[left[0]]
    found = again.objects.objects[record.key]
    start = found.data.index(LARGE) + len(LARGE)
    again.objects.objects[record.key] = found._replace(
        data=found.data[:start] + bytes(100) + found.data[start + 100 :]
    )
    with pytest.raises(RemoteReadError, match=r"seg/.*\.wal: frame .* should be at byte"):
        again.log.read(7, 0, 1 << 20)
    assert again.log.state == "OPEN"
    again.objects.objects[record.key] = found
    assert bodies(again.log)[0] == LARGE + b"0"


def test_an_error_of_the_store_is_told_and_the_next_read_asks_again() -> None:
    node, written, _ = tiered()
    again = without_indexes(node)
    again.objects.hook = lambda _: ObjectFault.AWAY
    for _ in range(2):
        with pytest.raises(RemoteReadError, match="no answer"):
            again.log.read(7, 0, 1 << 20)
    again.objects.hook = None
    assert bodies(again.log) == written


def test_a_read_that_must_not_wait_is_told_how_to_fetch_it() -> None:
    node, _, _ = tiered()
    again = without_indexes(node)
    assert waited_for(missed(again))
    assert again.log.read(7, 0, 1 << 20, may_wait=False).size_bytes > len(LARGE)


def test_one_fetch_is_enough_for_all_that_wait() -> None:
    node, written, _ = tiered()
    again = without_indexes(node)
    waiting: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
    again.store.blocks.connect(
        again.objects, limit_bytes=1 << 20, submit=lambda work, done: waiting.append((work, done))
    )
    for _ in range(3):
        with pytest.raises(RemoteWaits):
            again.log.read(7, 0, 1)
    with pytest.raises(IndexNotLoaded):
        again.log.read(7, 0, 1, may_wait=False)
    ((work, done),) = waiting
    work()
    done(None)
    again.store.blocks.connect(again.objects, limit_bytes=1 << 20, submit=here)
    assert bodies(again.log) == written


def test_at_every_crash_while_an_index_is_stored_again_all_records_are_read() -> None:
    node = Node(MemoryObjects(), disk=RecordingDisk())
    written = [LARGE + b"%d" % number for number in range(8)]
    node.append(*written)
    checkpointed(node)
    node.round()
    left = node.tier()
    disk = node.disk
    assert isinstance(disk, RecordingDisk)
    state, _ = node.log.storage
    for base in left:
        disk.remove(index_path(base))
        segment = state.segments.at(base)
        assert segment is not None
        state.index_cache.forget(segment)
        segment.index = None
    disk.sync_directory(FOLDER)
    disk.trace.start = disk.image.copy()
    disk.trace.events.clear()
    assert bodies(node.log) == written
    node.commit(node.log)
    assert all(disk.exists(index_path(base)) for base in left)

    def check(crash: CrashState) -> None:
        again = Node(node.objects, disk=MemoryDisk(image=crash.disk.image.copy()), incarnation="b")
        assert again.log.state == "OPEN", again.log.damage
        assert bodies(again.log) == written

    assert check_every_crash(disk.trace, check) > 3


def test_an_index_of_a_segment_that_was_retired_meanwhile_is_not_stored() -> None:
    node, written, left = tiered()
    again = without_indexes(node)
    assert bodies(again.log) == written
    state, _ = again.log.storage
    assert set(left) <= set(state.to_store)
    for base in left:
        segment = state.segments.at(base)
        assert segment is not None
        segment.retired = True
    again.commit(again.log)
    assert not any(again.disk.exists(index_path(base)) for base in left)
