"""Finding batches by their time, claim by claim and against brute force."""

from __future__ import annotations

import random

import pytest

from tests.wal.logs import batch, calls_of, commit, maintain, open_log, small_options
from wal.memory_disk import MemoryDisk
from wal.options import LogOptions


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("options", [small_options(), small_options(tail_cache_bytes=0, index_cache_bytes=1)])
def test_times_are_found_as_by_brute_force(seed: int, options: LogOptions) -> None:
    chance = random.Random(seed)
    log = open_log(MemoryDisk(), options)
    stored: list[tuple[int, int, int]] = []
    for number in range(120):
        timestamp = number * 10 + chance.randrange(-60, 60)
        at = log.append(1, batch(chance.randrange(1, 4), body=bytes(700), timestamp=timestamp))
        log.append(2, batch(timestamp=0))
        stored.append((at.base_offset, at.next_offset, timestamp))
        if chance.random() < 0.4:
            commit(log)
    commit(log)
    maintain(log)
    log.set_log_start(1, chance.randrange(stored[-1][1]))
    commit(log)
    visible = [known for known in stored if known[1] > log.log_start(1)]

    for timestamp in [*range(-100, 1_300, 7), 10**15, -(10**15)]:
        expected = next((base for base, _, time in visible if time >= timestamp), None)
        hit = log.find_timestamp(1, timestamp)
        assert (hit.base_offset if hit is not None else None) == expected
    newest = log.max_timestamp(1)
    assert newest is not None
    largest = max(time for _, _, time in visible)
    assert newest.base_offset == next(base for base, _, time in visible if time == largest)


def test_a_search_can_go_on_behind_a_batch() -> None:
    log = open_log(MemoryDisk())
    for _ in range(3):
        log.append(1, batch(2, timestamp=50))
    commit(log)

    first = log.find_timestamp(1, 50)
    assert first is not None
    second = log.find_timestamp(1, 50, from_offset=first.next_offset)

    assert (first.base_offset, first.next_offset) == (0, 2)
    assert second is not None
    assert second.base_offset == 2


def test_an_empty_stream_has_no_times() -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch())

    assert log.find_timestamp(1, 0) is None
    assert log.max_timestamp(1) is None
    assert log.find_timestamp(99, 0) is None
    assert log.max_timestamp(99) is None


def test_extents_begin_with_the_one_that_holds_the_log_start() -> None:
    log = open_log(MemoryDisk())
    for _ in range(4):
        log.append(1, batch(3, body=bytes(500)))
        commit(log)
    log.set_log_start(1, 4)
    commit(log)

    assert [(extent.base_offset, extent.next_offset) for extent in log.extents(1)] == [
        (3, 6),
        (6, 9),
        (9, 12),
    ]
    assert list(log.extents(77)) == []


def test_the_largest_time_is_found_anew_when_its_record_was_deleted() -> None:
    log = open_log(MemoryDisk())
    for timestamp in (900, 10, 500, 500, 20):
        log.append(1, batch(2, timestamp=timestamp))
    log.append(1, batch(2, body=bytes(7_000), timestamp=499))
    commit(log)
    newest = [log.max_timestamp(1)]
    log.set_log_start(1, 3)
    commit(log)
    newest += [log.max_timestamp(1), log.max_timestamp(1)]
    log.set_log_start(1, 9)
    commit(log)
    newest.append(log.max_timestamp(1))

    found = [(hit.base_offset, hit.max_timestamp) for hit in newest if hit is not None]
    assert found == [(0, 900), (4, 500), (4, 500), (10, 499)]


def test_the_offset_since_a_time_is_that_of_the_first_extent_as_new() -> None:
    log = open_log(MemoryDisk())
    for timestamp in (900, 10, 500):
        log.append(1, batch(2, timestamp=timestamp))
        commit(log)

    assert [log.offset_since(1, time, from_offset=0) for time in (0, 900, 901)] == [0, 0, 6]
    assert [log.offset_since(1, time, from_offset=3) for time in (0, 11, 501)] == [3, 4, 6]
    assert log.offset_since(2, 0, from_offset=0) == 0


def test_the_size_between_offsets_is_that_of_the_extents_that_end_between_them() -> None:
    log = open_log(MemoryDisk(), small_options())
    sizes = []
    for number in range(60):
        data = batch(2, body=bytes(300 + number))
        sizes.append(len(data))
        log.append(1, data)
        log.append(2, batch())
        commit(log)
    maintain(log)
    for start, end in ((0, 120), (0, 0), (10, 11), (10, 12), (11, 90), (90, 120)):
        assert log.bytes_between(1, start, end) == sum(sizes[start // 2 : end // 2])
    assert log.bytes_between(3, 0, 10) == 0


def test_a_search_by_time_loads_no_index_of_a_segment_without_such_a_time() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(tail_cache_bytes=0))
    for number in range(400):
        log.append(1, batch(body=bytes(900), timestamp=number))
        commit(log)
    maintain(log)
    log.close(0)
    log = open_log(disk, small_options(index_cache_bytes=1))
    assert log.usage()[0] > 8
    read = calls_of(disk, "read")
    hit = log.find_timestamp(1, 399)

    assert hit is not None
    assert hit.base_offset == 399
    assert len({call.path for call in read if call.path.endswith(".idx")}) <= 2
