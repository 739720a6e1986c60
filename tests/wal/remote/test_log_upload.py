"""One log's copy: the budget of a round, and names that are never used twice."""

from __future__ import annotations

import pytest

from tests.wal.remote.copies import Node
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
    node.uploader.take_over(0)
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
    node.uploader.take_over(0)
    views = node.views()
    node.append(b"two")
    node.log.close(node.now_ms)  # writes a checkpoint
    node.uploader.round(views, budget_bytes=1, now_ms=0)
    assert node.uploader.cut is not None
    assert node.uploader.cut.logs["default/vnode-0"].checkpoint is None
