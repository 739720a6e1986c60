"""Slabs are used again when nothing refers to them, and never before."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.framing import BufferPool, RequestReader
from protocol.slabs import ALIGNMENT, SLAB_BYTES, SlabArena
from tests.protocol.test_framing import request

SLAB = 4096


def arena(slabs_max: int = 2) -> SlabArena:
    return SlabArena(slabs_max, SLAB)


def took(lease: memoryview | None) -> memoryview:
    assert lease is not None
    return lease


def test_a_slab_is_a_huge_page_and_an_arena_begins_with_none() -> None:
    assert (SLAB_BYTES, SlabArena(3).size_bytes) == (2 << 20, 0)


def test_leases_of_one_slab_do_not_overlap_and_are_aligned() -> None:
    slabs = arena()
    one, other = took(slabs.take(100)), took(slabs.take(100))
    assert one.obj is other.obj
    one[:], other[:] = b"1" * 100, b"2" * 100
    assert bytes(one) == b"1" * 100
    whole = memoryview(one.obj)
    assert bytes(whole[ALIGNMENT * 2 : ALIGNMENT * 2 + 100]) == b"2" * 100


def test_a_slab_is_used_again_once_the_last_slice_of_it_is_dropped() -> None:
    slabs = arena(1)
    lease = took(slabs.take(SLAB))
    kept = lease[10:20]
    owner = id(lease.obj)
    del lease
    assert slabs.take(SLAB) is None
    del kept
    assert id(took(slabs.take(SLAB)).obj) == owner


@pytest.mark.parametrize(
    "keep", [lambda lease: [lease[5:6]], lambda lease: (lease.cast("b"), memoryview(lease)[1:])]
)
def test_whatever_refers_to_a_lease_keeps_the_slab(keep: Callable[[memoryview], object]) -> None:
    slabs = arena(1)
    lease = took(slabs.take(SLAB))
    kept = keep(lease)
    del lease
    assert slabs.take(1) is None
    del kept
    assert slabs.take(1) is not None


def test_there_are_no_more_slabs_than_the_arena_may_have() -> None:
    slabs = arena(2)
    leases = [slabs.take(SLAB) for _ in range(3)]
    assert [lease is None for lease in leases] == [False, False, True]
    assert slabs.size_bytes == 2 * SLAB
    assert arena(0).take(1) is None
    assert slabs.take(SLAB + 1) is None


def test_a_window_that_was_not_filled_is_handed_out_again() -> None:
    slabs = arena()
    window = took(slabs.window(1000))
    window[:3] = b"abc"
    slabs.used(3)
    following = took(slabs.take(10))
    following[:] = bytes(10)
    assert bytes(window[:3]) == b"abc"
    assert bytes(window[ALIGNMENT : ALIGNMENT + 10]) == bytes(10)


def test_what_was_lent_after_a_window_is_not_handed_out_again() -> None:
    slabs = arena()
    window, after = took(slabs.window(1000)), took(slabs.take(10))
    slabs.used(3)
    third = took(slabs.take(10))
    window[:], third[:], after[:] = b"w" * 1000, b"t" * 10, b"a" * 10
    assert (bytes(window), bytes(third)) == (b"w" * 1000, b"t" * 10)


def test_a_claim_goes_on_where_the_window_has_its_first_bytes() -> None:
    slabs = arena()
    window = took(slabs.window(100))
    window[90:] = b"0123456789"
    lease = took(slabs.claim(90, 2000))
    assert (len(lease), bytes(lease[:10])) == (2000, b"0123456789")
    assert slabs.claim(0, 10) is None, "the window has ended"


def test_a_claim_beyond_the_slab_leaves_the_window_as_it_was() -> None:
    slabs = arena()
    took(slabs.window(100))
    assert slabs.claim(90, SLAB) is None
    assert slabs.claim(0, SLAB) is not None


def test_a_slab_without_leases_is_filled_from_its_front_again() -> None:
    slabs = arena()
    for _ in range(100):
        took(slabs.take(3000))[:1] = b"x"
    assert slabs.size_bytes == SLAB


def test_trimming_gives_back_what_was_not_used_since_the_last_time() -> None:
    slabs = arena(8)
    leases = [took(slabs.take(SLAB)) for _ in range(5)]
    assert slabs.trim()
    assert slabs.size_bytes == 5 * SLAB
    del leases[1:]
    assert slabs.trim()
    assert slabs.size_bytes == SLAB, "one is in use"
    leases.clear()
    assert not slabs.trim()
    assert slabs.size_bytes == 0
    assert slabs.take(10) is not None


def test_trimming_keeps_the_slabs_in_the_front_while_they_are_used() -> None:
    slabs = arena(8)
    leases = [took(slabs.take(SLAB)) for _ in range(5)]
    slabs.trim()
    leases.clear()
    leases += [took(slabs.take(SLAB)), took(slabs.take(SLAB))]
    leases.clear()
    slabs.trim()
    assert slabs.size_bytes == 2 * SLAB


def test_the_first_slab_is_announced_each_time() -> None:
    slabs = arena()
    told: list[int] = []
    slabs.grown = lambda: told.append(slabs.size_bytes)
    lease = slabs.take(SLAB)
    other = slabs.take(SLAB)
    del lease, other
    slabs.trim()
    slabs.trim()
    slabs.take(1)
    assert told == [SLAB, SLAB]


sizes = st.lists(
    st.one_of(st.integers(1, 40), st.integers(41, 700), st.integers(700, SLAB + 100)), max_size=25
)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), payloads=st.lists(sizes, min_size=1, max_size=3), slabs_max=st.integers(0, 3))
def test_requests_that_may_be_kept_are_never_written_over(
    data: st.DataObject, payloads: list[list[int]], slabs_max: int
) -> None:
    pool = BufferPool(buffer_bytes=64, slabs=SlabArena(slabs_max, SLAB))
    readers = [RequestReader(pool) for _ in payloads]
    wanted = [
        [bytes([number, *([size % 251] * (size - 1))]) for number, size in enumerate(each)]
        for each in payloads
    ]
    streams = [b"".join(map(request, each)) for each in wanted]
    kept: list[tuple[memoryview, bytes]] = []
    found: list[list[bytes]] = [[] for _ in readers]
    while any(streams):
        place = data.draw(st.sampled_from([place for place, rest in enumerate(streams) if rest]))
        reader, limit = readers[place], data.draw(st.integers(1, 2000))
        for _ in range(data.draw(st.integers(1, 3))):
            buffer = reader.wanted_buffer()
            piece = streams[place][: min(limit, len(buffer))]
            streams[place] = streams[place][len(piece) :]
            buffer[: len(piece)] = piece
            reader.received(len(piece))
            stalled = data.draw(st.booleans())
            while not stalled and (taken := reader.next_request()) is not None:
                found[place].append(bytes(taken))
                if reader.owned and data.draw(st.booleans()):
                    kept.append((taken, bytes(taken)))
                del taken
            if stalled:
                reader.release_buffer()
                while (taken := reader.next_request()) is not None:
                    found[place].append(bytes(taken))
                    if reader.owned:
                        kept.append((taken, bytes(taken)))
        if data.draw(st.booleans()):
            reader.release_buffer()
        drops: bool = data.draw(st.booleans())
        if kept and drops:
            kept.pop(0)
        assert all(bytes(view) == was for view, was in kept)
    assert found == wanted
    assert pool.slabs.size_bytes <= slabs_max * SLAB


def test_nothing_is_left_of_a_reader_in_its_slab() -> None:
    pool = BufferPool(buffer_bytes=64, slabs=SlabArena(1, SLAB))
    reader = RequestReader(pool)
    assert len(list(reader.requests(request(b"a" * 1000) * 3 + request(b"x") + b"\0\0"))) == 4
    reader.release_buffer()
    gc.collect()
    assert reader.held_bytes == 2
    assert not pool.slabs.trim() or not pool.slabs.trim()
