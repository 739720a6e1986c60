"""One log's copy: the budget of a round, and names that are never used twice."""

from __future__ import annotations

import pytest

from tests.wal.remote.copies import Node, bodies, restored
from tests.wal.stores import OPTIONS, open_store
from wal.checkpoint import own_checkpoint
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.objects import StoreAway
from wal.remote.log_upload import Budget


def test_the_first_closed_segment_of_a_round_always_goes() -> None:
    budget = Budget(0)
    spent = [budget.is_spent]
    budget.take(100, closed=True)
    spent.append(budget.is_spent)
    assert (spent, budget.uploaded_bytes) == ([False, True], 100)


def test_chunks_do_not_count_against_closed_segments() -> None:
    budget = Budget(10)
    budget.take(1_000)
    assert not budget.is_spent


def test_a_name_that_got_no_answer_is_never_used_for_other_bytes() -> None:
    faults = [ObjectFault.LATE]
    node = Node(MemoryObjects())
    node.append(b"one")
    node.uploader.take_over(node.views(), 0)
    node.objects.hook = lambda call: faults.pop() if faults and "/wal/" in call.key else None
    with pytest.raises(StoreAway):
        node.round()
    node.append(b"two")
    node.round()
    named = {key for key in node.objects.objects if "/wal/" in key}
    node.objects.land_late()
    late = {key for key in node.objects.objects if "/wal/" in key} - named
    assert len(late) == 1
    assert node.uploader.sweep(0) == [], "it is known as garbage already"
    node.uploader.clean(9_000, count=10)
    assert late.isdisjoint(node.objects.objects)


def test_a_checkpoint_beyond_the_moment_is_not_part_of_it() -> None:
    node = Node(MemoryObjects())
    node.append(b"one")
    node.uploader.take_over(node.views(), 0)
    views = node.views()
    node.append(b"two")
    node.log.close(node.now_ms)  # writes a checkpoint
    node.uploader.round(views, budget_bytes=1, now_ms=0)
    assert node.uploader.cut is not None
    assert node.uploader.cut.logs["default/vnode-0"].checkpoint is None


def failing_once(part: str) -> MemoryObjects:
    """Return a store that is away at the first request for a key with this part."""
    left = [ObjectFault.AWAY]
    return MemoryObjects(
        lambda call: left.pop() if left and part in call.key and call.kind == "create" else None
    )


def test_a_checkpoint_of_a_round_that_failed_later_is_part_of_the_next_cut() -> None:
    """Seeds 434 and 1142 of the simulation: it counted as uploaded, and no cut led to it."""
    node = Node(failing_once("/manifest/"))
    node.append(*[b"x" * 20_000] * 6)
    node.log.close(node.now_ms)  # writes a checkpoint
    node.uploader.take_over(node.views(), 0)
    views = node.views()
    with pytest.raises(StoreAway):
        node.uploader.round(views, budget_bytes=1 << 30, now_ms=0)
    node.uploader.round(views, budget_bytes=1 << 30, now_ms=0)
    assert node.uploader.cut is not None
    checkpoint = node.uploader.cut.logs["default/vnode-0"].checkpoint
    assert checkpoint is not None
    assert f"cluster/default/vnode-0/{checkpoint.name}" in node.objects.objects


def test_a_chunk_of_a_round_that_failed_later_is_no_orphan() -> None:
    """Seed 522 of the simulation: the sweep took it, and then the next cut led to it."""
    node = Node(failing_once("/manifest/"))
    node.append(*[b"x" * 20_000] * 6)
    with pytest.raises(StoreAway):
        node.round()
    assert node.uploader.sweep(0) == []
    node.round()
    node.uploader.clean(10_000, count=100)
    assert (
        bodies(open_store(restored(node.objects)).open_vnode("default", 0, now_ms=0, options=OPTIONS))
        == [b"x" * 20_000] * 6
    )


def test_a_newer_checkpoint_of_the_same_size_takes_the_place_of_the_one_before() -> None:
    node = Node(MemoryObjects())
    found = []
    for _ in range(3):
        node.append(b"x" * 100)
        node.log.storage[1].checkpoint_wanted = True
        node.commit(node.log)
        node.round()
        assert node.uploader.cut is not None
        stored = node.uploader.cut.logs["default/vnode-0"].checkpoint
        assert stored is not None
        checkpoint = own_checkpoint(node.objects.read(f"cluster/default/vnode-0/{stored.name}").data, "log")
        assert checkpoint is not None
        found.append((stored.size_bytes, stored.crc, checkpoint.sequence))
    sizes, crcs, sequences = zip(*found, strict=True)
    assert len(set(sizes[1:])) == len(set(crcs)) == 1, "neither size nor CRC tells them apart"
    assert sequences == tuple(sorted(set(sequences)))


def test_a_copy_after_retention_is_restored_with_the_checkpoint_that_let_segments_go() -> None:
    node = Node(MemoryObjects())
    written = [b"y" * 20_000 + b"%02d" % number for number in range(20)]
    for number, body in enumerate(written):
        node.append(body)
        if number % 4 == 3:
            node.log.set_log_start(7, number - 1)
            for _ in range(2):
                node.log.storage[1].checkpoint_wanted = True
                node.commit(node.log)
            node.log.retire_segments()
            node.commit(node.log)
            node.round()
            log = open_store(restored(node.objects)).open_vnode("default", 0, now_ms=0, options=OPTIONS)
            assert bodies(log) == written[number - 1 : number + 1]
