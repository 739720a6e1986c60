"""The queue gives out what is due, each stream once, and keeps no more than it must."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from broker.upkeep.retention_queue import NEVER, NOTHING_DUE, SWEEP_AFTER, RetentionQueue


def test_streams_come_when_they_are_due() -> None:
    queue = RetentionQueue()
    for stream_id in range(10):
        queue.put(stream_id, 100 * stream_id)
    assert sorted(queue.take(250)) == [0, 1, 2]
    assert list(queue.take(250)) == []
    assert sorted(queue.take(10_000)) == [3, 4, 5, 6, 7, 8, 9]


def test_touched_streams_come_at_once_and_once() -> None:
    queue = RetentionQueue()
    queue.put(1, 50)
    queue.touch([1, 2])
    assert sorted(queue.take(60)) == [1, 2]
    assert list(queue.take(60)) == []


def test_a_new_time_replaces_the_old_one() -> None:
    queue = RetentionQueue()
    queue.put(1, 50)
    queue.put(1, 500)
    assert list(queue.take(100)) == []
    queue.put(1, 200)
    assert list(queue.take(200)) == [1]
    queue.put(2, 210)
    queue.put(2, NEVER)
    queue.put(3, 210)
    queue.forget(3)
    assert list(queue.take(10**15)) == []


def test_outdated_entries_do_not_pile_up() -> None:
    queue = RetentionQueue()
    for due_ms in range(10_000):
        queue.put(7, due_ms)
    assert queue._entries <= SWEEP_AFTER + 3
    assert list(queue.take(9_999)) == [7]


def test_a_stream_put_back_while_a_check_goes_on_waits_for_the_next_one() -> None:
    queue = RetentionQueue()
    queue.touch([1, 2, 3])
    seen = []
    for stream_id in queue.take(100):
        seen.append(stream_id)
        queue.put(stream_id, 100)
        queue.touch([7])
    assert sorted(seen) == [1, 2, 3]
    assert sorted(queue.take(100)) == [1, 2, 3, 7]
    queue.put(7, 150)
    queue.touch([7])
    seen = []
    for stream_id in queue.take(200):
        seen.append(stream_id)
        queue.put(stream_id, 200)
    assert seen == [7]
    assert list(queue.take(200)) == [7]


def test_what_a_check_that_failed_has_not_come_to_is_due_at_the_next_one() -> None:
    queue = RetentionQueue()
    for stream_id in range(10):
        queue.put(stream_id, 50)
    first = next(queue.take(60))
    for stream_id in range(10):
        queue.put(stream_id, 70)
    assert sorted(queue.take(70)) == list(range(10))
    queue.put(first, 80)
    queue.put(first, 90)
    assert list(queue.take(80)) == []
    assert list(queue.take(90)) == [first]


def test_nothing_is_kept_of_streams_that_are_forgotten() -> None:
    queue = RetentionQueue()
    for stream_id in range(200):
        queue.put(stream_id, 5)
    for stream_id in range(200):
        queue.forget(stream_id)
    assert (queue._due, queue._timed, queue.walks) == ({}, 0, {})
    assert set(NOTHING_DUE) == {NEVER}
    assert list(queue.take(5)) == []
    assert (queue._waiting, queue._spans, queue._entries) == ({}, [], 0)


@pytest.mark.parametrize("longest_ms", [300, 200_000, 10_000_000])
def test_random_histories_give_what_two_plain_tables_give(longest_ms: int) -> None:
    chance = random.Random(longest_ms)
    queue, due, touched, now = RetentionQueue(), dict[int, int](), set[int](), 0
    for _ in range(6_000):
        stream_id = chance.choice([chance.randrange(150), chance.randrange(1 << 40, (1 << 40) + 70)])
        match chance.randrange(12):
            case 0:
                now += chance.randrange(longest_ms // 10)
                expected = touched | {each for each, at in due.items() if at <= now}
                assert sorted(queue.take(now)) == sorted(expected)
                due, touched = {each: at for each, at in due.items() if at > now}, set()
            case 1:
                queue.touch([stream_id, stream_id + 1])
                touched |= {stream_id, stream_id + 1}
            case 2:
                queue.forget(stream_id)
                due.pop(stream_id, None)
            case 3:
                queue.put(stream_id, chance.choice([NEVER, NEVER + 1, 1 << 63]))
                due.pop(stream_id, None)
            case _:
                due[stream_id] = now + 1 + chance.randrange(longest_ms)
                queue.put(stream_id, due[stream_id])
        assert queue._timed == len(due)
        assert queue._entries == sum(map(len, queue._waiting.values())) <= 2 * len(due) + SWEEP_AFTER + 200


def test_streams_of_many_partitions_take_few_bytes_more_if_their_times_lie_far_apart() -> None:
    streams = range(20_000)
    for distance_ms in (0, 30_000):
        tracemalloc.start()
        queue = RetentionQueue()
        for _ in range(3):
            queue.touch(streams)
            for stream_id in queue.take(0):
                queue.put(stream_id, 10**12 + stream_id * distance_ms)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert taken < (120 if distance_ms else 40) * len(streams), distance_ms
