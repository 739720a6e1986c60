"""The caches in memory are bounded, and the oldest entry leaves first."""

from __future__ import annotations

import mmap
import sys
import tracemalloc

import pytest

from tests.wal.logs import new_state
from wal.disk import Buffer
from wal.index import FRAME_BYTES, GROWN_EXTENT_BYTES, GROWN_STREAM_BYTES, ActiveIndex
from wal.index_file import decode_index, encode_index
from wal.memory_disk import MemoryDisk
from wal.segment import Segment, SharedFile
from wal.tail import (
    BUFFER_BYTES,
    EXTENT_OVERHEAD_BYTES,
    SLAB_WASTE_MAX,
    IndexCache,
    TailCache,
    pinned_bytes,
)


def segment(base_version: int = 0) -> Segment:
    return Segment(f"{base_version}.wal", base_version=base_version, base_sequence=0, salt=1)


def extents(*positions: int, size: int = 100) -> dict[int, list[Buffer]]:
    return {position: [bytes(size)] for position in positions}


EXTENT_COST_IN_MEMORY = BUFFER_BYTES + EXTENT_OVERHEAD_BYTES
"""The bytes that an extent of one batch counts for, beyond those of the batch."""

COST = 100 + EXTENT_COST_IN_MEMORY


def test_extents_are_kept_up_to_the_limit_oldest_out_first() -> None:
    cache, one, two = TailCache(4 * COST), segment(0), segment(9)

    cache.add(one, extents(1024, 1500), 200)
    cache.add(one, extents(2000), 100)
    cache.add(two, extents(1024), 100)
    assert sorted(one.tail) == [1024, 1500, 2000]
    cache.add(two, extents(1200), 100)

    assert (one.tail, two.tail) == (extents(2000), extents(1024, 1200))
    assert cache.size_bytes == 3 * COST


@pytest.mark.parametrize("limit", [0, 2 * COST - 1])
def test_a_frame_above_the_limit_is_not_kept_at_all(limit: int) -> None:
    cache, one = TailCache(limit), segment()

    cache.add(one, extents(1024, 1500), 200)

    assert (one.tail, cache.size_bytes) == ({}, 0)


def test_one_large_frame_pushes_out_all_small_ones() -> None:
    cache, one = TailCache(6 * COST), segment()
    for position in range(5):
        cache.add(one, extents(position), 100)

    cache.add(one, extents(77, size=6 * COST - EXTENT_COST_IN_MEMORY), 6 * COST - EXTENT_COST_IN_MEMORY)

    assert (sorted(one.tail), cache.size_bytes) == ([77], 6 * COST)


def test_frames_without_batches_cost_nothing() -> None:
    cache, one = TailCache(0), segment()

    cache.add(one, {}, 0)

    assert (one.tail, cache.size_bytes) == ({}, 0)


def test_clearing_forgets_every_segment() -> None:
    cache, one, two = TailCache(3 * COST), segment(0), segment(9)
    cache.add(one, extents(1), 100)
    cache.add(two, extents(2), 100)

    cache.clear()
    cache.add(two, extents(3), 100)

    assert (one.tail, two.tail, cache.size_bytes) == ({}, extents(3), COST)


def test_a_small_batch_of_a_large_request_is_copied_out_of_it() -> None:
    request = memoryview(bytearray(1 << 20))
    cache, one = TailCache(1 << 30), segment()

    cache.add(one, {0: [request[:100]]}, 100)

    assert pinned_bytes(one.tail[0]) == 100
    assert cache.size_bytes == COST


def test_a_request_of_which_most_was_accepted_is_counted_whole_and_once() -> None:
    request = memoryview(bytearray(1000))
    cache, one = TailCache(1 << 30), segment()

    cache.add(one, {0: [request[:400]], 400: [request[400:800]]}, 800)

    assert one.tail[0] == [request[:400]]
    assert pinned_bytes(one.tail[0]) == 1000, "it is not copied"
    assert cache.size_bytes == 1000 + 2 * EXTENT_COST_IN_MEMORY


def test_many_small_batches_count_with_the_objects_that_hold_them() -> None:
    buffers: list[Buffer] = [memoryview(bytearray(100)) for _ in range(50)]
    cache, one = TailCache(1 << 30), segment()

    cache.add(one, {0: buffers}, 5000)

    assert cache.size_bytes == 50 * (100 + BUFFER_BYTES) + EXTENT_OVERHEAD_BYTES


def test_a_segment_whose_batches_were_all_dropped_takes_no_room_for_more() -> None:
    cache, old, new = TailCache(50 * EXTENT_COST_IN_MEMORY), segment(0), segment(1)
    for position in range(2_000):
        cache.add(old, {position: [bytes(10)]}, 10)
    grown = sys.getsizeof(old.tail)

    for position in range(60):
        cache.add(new, {position: [bytes(10)]}, 10)

    assert sys.getsizeof(old.tail) == sys.getsizeof({}) < grown
    assert new.tail


def indexed(base_version: int, extent_count: int = 1, frame_count: int = 0) -> Segment:
    """Return a sealed segment with an index and an open file."""
    disk = MemoryDisk()
    one = segment(base_version)
    one.sealed = True
    one.shared = SharedFile(disk.open("file", create=True))
    one.index = index = ActiveIndex()
    for number in range(extent_count):
        index.add(1, base=number, count=1, position=number, size=1, max_timestamp=0, version=number)
    for number in range(frame_count):
        index.add_frame(number, number)
    return one


def loaded(one: Segment) -> bool:
    return one.index is not None and one.shared is not None


def test_indexes_are_given_up_oldest_first_with_their_files() -> None:
    one = GROWN_EXTENT_BYTES + GROWN_STREAM_BYTES
    cache = IndexCache(2 * one)
    segments = [indexed(number) for number in range(4)]

    for sealed in segments:
        cache.loaded(sealed)

    assert [loaded(sealed) for sealed in segments] == [False, False, True, True]
    assert cache.size_bytes == 2 * one


def test_an_index_that_has_grown_counts_its_extents_streams_and_frames() -> None:
    cache = IndexCache(1 << 20)

    cache.loaded(indexed(0, extent_count=7, frame_count=3))

    assert cache.size_bytes == 7 * GROWN_EXTENT_BYTES + GROWN_STREAM_BYTES + 3 * FRAME_BYTES


def test_an_index_from_its_file_counts_that_and_its_verdicts() -> None:
    cache, one = IndexCache(1 << 20), indexed(0, extent_count=7, frame_count=3)
    assert isinstance(one.index, ActiveIndex)
    data = encode_index(one.index, vnode_id=0, base_version=0, end_position=9, next_version=7, seed=1)
    one.index = decode_index(data, base_version=0, seed=1)

    cache.loaded(one)

    assert cache.size_bytes == len(data) + 7


@pytest.mark.parametrize("streams", [1, 20_000])
def test_an_index_that_grows_weighs_what_it_takes(streams: int) -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        index = ActiveIndex()
        for number in range(40_000):
            index.add(
                500 + number % streams, base=number, count=1, position=number, size=1, max_timestamp=0,
                version=number,
            )  # fmt: skip
        index.trust_nothing()
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert 0.85 * taken < index.memory_bytes() < 1.15 * taken


def test_an_index_that_is_heavier_than_all_may_be_is_let_go_once_it_is_stored() -> None:
    cache, large, small = IndexCache(20 * GROWN_EXTENT_BYTES), indexed(0, extent_count=50), indexed(1)

    cache.stored(small)
    cache.stored(large)
    cache.stored(large)

    assert (loaded(large), loaded(small)) == (False, True)
    assert cache.size_bytes == GROWN_EXTENT_BYTES + GROWN_STREAM_BYTES


def test_the_one_in_use_is_kept_however_large_it_is() -> None:
    cache, large = IndexCache(0), indexed(0, extent_count=50)

    cache.loaded(large)

    assert loaded(large)
    cache.loaded(indexed(1))
    assert not loaded(large)


def test_an_index_counts_once() -> None:
    cache, one = IndexCache(1 << 20), indexed(0)

    cache.loaded(one)
    cache.loaded(one)
    cache.forget(one)

    assert cache.size_bytes == 0
    cache.forget(one)
    assert cache.size_bytes == 0


def test_no_more_files_stay_open_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndexCache, "FILES_MAX", 3)
    cache = IndexCache(1 << 30)
    segments = [indexed(number) for number in range(5)]

    for sealed in segments:
        cache.loaded(sealed)

    assert [loaded(sealed) for sealed in segments] == [False, False, True, True, True]


def test_a_growing_segment_keeps_its_index_and_file() -> None:
    cache, one = IndexCache(1 << 20), indexed(0)
    one.sealed = False
    cache.loaded(one)

    cache.forget(one)

    assert loaded(one)
    assert cache.size_bytes == 0


def test_only_an_index_in_memory_can_be_noted() -> None:
    one = new_state(MemoryDisk()).new_segment(0, 0)

    with pytest.raises(AssertionError):
        IndexCache(0).loaded(one)


SLAB = 1 << 16


def slab() -> memoryview:
    return memoryview(mmap.mmap(-1, SLAB))


def slab_of(view: Buffer) -> object:
    assert isinstance(view, memoryview)
    return view.obj


def test_batches_side_by_side_in_a_slab_count_it_once_until_the_last_is_dropped() -> None:
    cache, one, shared = TailCache(SLAB + 3 * EXTENT_COST_IN_MEMORY), segment(), slab()
    half = SLAB // 2

    cache.add(one, {0: [shared[:half]]}, half)
    cache.add(one, {1: [shared[half:]]}, half)
    assert cache.size_bytes == SLAB + 2 * EXTENT_COST_IN_MEMORY

    cache.add(one, {2: [slab()[:half]]}, half)
    assert sorted(one.tail) == [2]
    assert cache.size_bytes == SLAB + EXTENT_COST_IN_MEMORY


def test_the_slabs_of_a_frame_are_counted_all() -> None:
    cache, one, shared, other = TailCache(1 << 30), segment(), slab(), slab()

    cache.add(one, {0: [shared[SLAB // 2 :], other[:10]]}, SLAB // 2 + 10)

    assert cache.size_bytes == 2 * SLAB + 2 * BUFFER_BYTES + EXTENT_OVERHEAD_BYTES


def test_a_small_batch_is_copied_out_of_a_slab_that_is_not_kept_yet() -> None:
    cache, one, shared = TailCache(1 << 30), segment(), slab()
    small = SLAB // SLAB_WASTE_MAX - 1

    cache.add(one, {0: [shared[:small]]}, small)

    assert (slab_of(memoryview(one.tail[0][0])) is shared.obj, pinned_bytes(one.tail[0])) == (False, small)
    assert cache.size_bytes == small + EXTENT_COST_IN_MEMORY


def test_a_small_batch_stays_in_a_slab_that_is_kept_already() -> None:
    cache, one, shared = TailCache(1 << 30), segment(), slab()

    cache.add(one, {0: [shared[: SLAB // 2]]}, SLAB // 2)
    cache.add(one, {1: [shared[SLAB // 2 :][:100]]}, 100)

    assert slab_of(one.tail[1][0]) is shared.obj
    assert cache.size_bytes == SLAB + 2 * EXTENT_COST_IN_MEMORY


def test_clearing_forgets_slabs() -> None:
    cache, one = TailCache(1 << 30), segment()
    cache.add(one, {0: [slab()[:]]}, SLAB)

    cache.clear()

    assert (one.tail, cache.size_bytes) == ({}, 0)
