"""Power failures at every step of a segment's way off the disk: one of two places has its bytes, by name."""

from __future__ import annotations

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash
from tests.wal.remote.copies import Node, bodies
from tests.wal.test_tiering import LARGE, checkpointed
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.store_marker import MARKER, STORE_FORMAT, TIERED_FORMAT, marker_format


def prepared() -> tuple[Node, list[bytes]]:
    """Return a node on a recording disk whose segments are in the store."""
    node = Node(MemoryObjects(), disk=RecordingDisk())
    written = [LARGE + b"%d" % number for number in range(12)]
    node.append(*written)
    checkpointed(node)
    node.round()
    return node, written


def test_at_every_crash_while_segments_leave_the_disk_all_records_are_read() -> None:
    node, written = prepared()
    disk = node.disk
    assert isinstance(disk, RecordingDisk)
    disk.trace.start = disk.image.copy()
    disk.trace.events.clear()
    left = node.tier()
    assert len(left) > 1
    seen, formats = set(), set()

    def check(state: CrashState) -> None:
        again = Node(node.objects, disk=MemoryDisk(image=state.disk.image.copy()), incarnation="b")
        assert again.log.state == "OPEN", again.log.damage
        assert bodies(again.log) == written
        seen.add(len(again.log.view().remote))
        formats.add((bool(again.log.view().remote), marker_format(state.disk, f"data/{MARKER}")))
        assert again.round().segments_missing == 0
        # The process before has left checkpoints that newer ones replaced, and nothing else.
        assert all("/state/" in key for key in again.uploader.sweep(1))

    assert check_every_crash(disk.trace, check) > 10
    assert seen >= set(range(len(left))), "crashes before, between and after"
    assert formats == {(False, STORE_FORMAT), (False, TIERED_FORMAT), (True, TIERED_FORMAT)}


def test_at_every_crash_while_such_segments_are_retired_all_later_records_are_read() -> None:
    node, written = prepared()
    node.tier()
    disk = node.disk
    assert isinstance(disk, RecordingDisk)
    disk.trace.start = disk.image.copy()
    disk.trace.events.clear()
    node.log.set_log_start(7, 8)
    node.commit(node.log)
    node.log.retire_segments()
    node.commit(node.log)

    def check(state: CrashState) -> None:
        again = Node(node.objects, disk=MemoryDisk(image=state.disk.image.copy()), incarnation="b")
        assert again.log.state == "OPEN", again.log.damage
        first = again.log.log_start(7)
        assert first in (0, 8)
        assert bodies(again.log) == written[first:]

    assert check_every_crash(disk.trace, check) > 10
