"""The queue gives out what is due, each stream once, and keeps no more than it must."""

from __future__ import annotations

from broker.upkeep.retention_queue import NEVER, SWEEP_AFTER, RetentionQueue


def test_streams_come_when_they_are_due() -> None:
    queue = RetentionQueue()
    for stream_id in range(10):
        queue.put(stream_id, 100 * stream_id)
    assert sorted(queue.take(250)) == [0, 1, 2]
    assert queue.take(250) == []
    assert sorted(queue.take(10_000)) == [3, 4, 5, 6, 7, 8, 9]


def test_touched_streams_come_at_once_and_once() -> None:
    queue = RetentionQueue()
    queue.put(1, 50)
    queue.touch([1, 2])
    assert sorted(queue.take(60)) == [1, 2]
    assert queue.take(60) == []


def test_a_new_time_replaces_the_old_one() -> None:
    queue = RetentionQueue()
    queue.put(1, 50)
    queue.put(1, 500)
    assert queue.take(100) == []
    queue.put(1, 200)
    assert queue.take(200) == [1]
    queue.put(2, 10)
    queue.put(2, NEVER)
    queue.put(3, 10)
    queue.forget(3)
    assert queue.take(10**15) == []


def test_outdated_entries_do_not_pile_up() -> None:
    queue = RetentionQueue()
    for due_ms in range(10_000):
        queue.put(7, due_ms)
    assert len(queue._heap) <= SWEEP_AFTER + 3
    assert queue.take(9_999) == [7]
