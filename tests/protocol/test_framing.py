"""The requests that come out are those that were sent, however the stream was cut; memory follows receipt."""

from __future__ import annotations

import itertools
import mmap
import struct
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import RequestTooLarge
from protocol.framing import (
    BUFFER_BYTES,
    FIRST_GRANT_BYTES_MAX,
    GROWTH_MAX,
    PRODUCE,
    RECEIVE_BYTES_MAX,
    REQUEST_BYTES_MAX,
    BufferPool,
    RequestReader,
)

MIB = 1 << 20


def request(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def receive(reader: RequestReader, data: bytes) -> list[bytes]:
    """Give `data` to the reader in as many receives as it asks for, like a socket that has it all ready."""
    requests = []
    while data:
        wanted = reader.wanted_buffer()
        piece, data = data[: len(wanted)], data[len(wanted) :]
        wanted[: len(piece)] = piece
        reader.received(len(piece))
        while (found := reader.next_request()) is not None:
            requests.append(bytes(found))
    return requests


payloads = st.lists(st.integers(1, 300).map(lambda size: bytes(n % 251 for n in range(size))), max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    payloads=payloads, cuts=st.lists(st.integers(0, 3000), max_size=15), released=st.sets(st.integers(0, 15))
)
def test_any_split_of_the_stream_gives_the_same_frames(
    payloads: list[bytes], cuts: list[int], released: set[int]
) -> None:
    stream = b"".join(map(request, payloads))
    reader = RequestReader(BufferPool(buffer_bytes=64))
    requests = []
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        requests += receive(reader, stream[start:stop])
        if number in released:
            reader.release_buffer()
    assert requests == payloads
    assert reader.pending_bytes == 0


def test_one_byte_at_a_time_is_enough() -> None:
    reader = RequestReader(BufferPool(buffer_bytes=16))
    stream = request(b"small") + request(b"larger than the buffer of 16") + request(b"x")
    found = [bytes(got) for byte in stream for got in reader.requests(bytes([byte]))]
    assert found == [b"small", b"larger than the buffer of 16", b"x"]


def test_many_frames_of_one_receive_lie_in_the_receive_buffer() -> None:
    reader = RequestReader(BufferPool())
    stream = b"".join(request(b"%d" % n) for n in range(1000))
    wanted = reader.wanted_buffer()
    wanted[: len(stream)] = stream
    reader.received(len(stream))
    requests = []
    while (found := reader.next_request()) is not None:
        assert not reader.owned
        assert found.obj is wanted.obj
        requests.append(int(bytes(found)))
    assert requests == list(range(1000))


def test_a_frame_larger_than_the_buffer_has_contiguous_memory_of_its_own() -> None:
    reader = RequestReader(BufferPool())
    payload = bytes(range(256)) * 1024
    found = [(got, reader.owned) for got in reader.requests(request(payload) + request(b"next"))]
    (large, large_owned), (_, next_owned) = found
    assert (large == payload, large.contiguous, large.readonly) == (True, True, False)
    assert (large_owned, next_owned) == (True, False)


def test_the_rest_of_a_large_frame_is_received_straight_into_its_memory() -> None:
    reader = RequestReader(BufferPool())
    assert receive(reader, request(bytes(300_000))[:BUFFER_BYTES]) == []
    rest = reader.wanted_buffer()
    assert len(rest) == 300_000 - (BUFFER_BYTES - 4)
    reader.received(len(rest))
    found = reader.next_request()
    assert found is not None
    assert found.obj is rest.obj


def test_an_owned_frame_outlives_later_receives() -> None:
    reader = RequestReader(BufferPool(buffer_bytes=32))
    (kept,) = list(reader.requests(request(b"a" * 100)))
    receive(reader, request(b"b" * 100) + request(b"c" * 10))
    assert kept == b"a" * 100


@pytest.mark.parametrize("length", [0, -1, -(2**31), 1001, 2**31 - 1, 0x47455420])
def test_a_length_out_of_range_is_refused_again_and_again(length: int) -> None:
    reader = RequestReader(BufferPool(), limit_bytes=1000)
    data = struct.pack(">i", length)
    for _ in range(2):
        with pytest.raises(RequestTooLarge) as refused:
            receive(reader, data)
        assert (refused.value.size_bytes, refused.value.limit_bytes) == (length, 1000)


def test_frames_before_an_oversized_one_are_returned() -> None:
    reader = RequestReader(BufferPool(), limit_bytes=10)
    requests = reader.requests(request(b"good") + request(b"elevenbytes"))
    assert bytes(next(requests)) == b"good"
    with pytest.raises(RequestTooLarge):
        next(requests)


def test_the_limit_may_change_between_frames() -> None:
    reader = RequestReader(BufferPool(), limit_bytes=4)
    assert receive(reader, request(b"four")) == [b"four"]
    reader.limit_bytes = 5
    assert receive(reader, request(b"five!")) == [b"five!"]


@pytest.mark.parametrize("arrived", [0, 1, 1000, BUFFER_BYTES - 4, 200_000])
def test_an_announced_length_takes_no_memory_beyond_what_arrived(arrived: int) -> None:
    pool = BufferPool()
    pool.give(memoryview(bytearray(BUFFER_BYTES)))
    tracemalloc.start()
    reader = RequestReader(pool)
    receive(reader, struct.pack(">i", REQUEST_BYTES_MAX) + bytes(arrived))
    reader.wanted_buffer()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= max(BUFFER_BYTES, arrived * GROWTH_MAX) + arrived * 2 + 8192
    assert reader.pending_bytes == arrived + 4


@pytest.mark.parametrize("arrived", [BUFFER_BYTES, MIB, 2 * MIB + 1, 10 * MIB, 60 * MIB])
def test_a_large_frame_has_no_more_memory_than_it_needs_so_far(arrived: int) -> None:
    reader = RequestReader(BufferPool())
    receive(reader, struct.pack(">i", REQUEST_BYTES_MAX) + bytes(arrived))
    reader.wanted_buffer()
    assert arrived <= reader.unfinished_memory_bytes <= max(FIRST_GRANT_BYTES_MAX, arrived)


def test_a_large_frame_is_copied_once_when_it_outgrows_its_first_memory() -> None:
    reader = RequestReader(BufferPool())
    receive(reader, struct.pack(">i", REQUEST_BYTES_MAX) + bytes(FIRST_GRANT_BYTES_MAX))
    memory = reader.wanted_buffer().obj
    for _ in range(40):
        wanted = reader.wanted_buffer()
        assert wanted.obj is memory
        assert len(wanted) <= RECEIVE_BYTES_MAX
        reader.received(len(wanted))
        assert reader.next_request() is None


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux shows a process's memory there")
def test_the_memory_of_a_large_frame_follows_the_bytes_that_arrive() -> None:
    before, readers = resident_bytes(), []
    for _ in range(20):
        readers.append(RequestReader(BufferPool()))
        receive(readers[-1], struct.pack(">i", REQUEST_BYTES_MAX) + bytes(3 * MIB))
        readers[-1].wanted_buffer()
    assert resident_bytes() - before < 20 * 8 * MIB, "2,000 MiB were announced, 60 MiB have arrived"


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def test_a_frame_of_the_greatest_size_arrives_whole() -> None:
    reader = RequestReader(BufferPool(), limit_bytes=20 * MIB)
    payload = bytes(range(256)) * (20 * MIB // 256)
    (found,) = list(reader.requests(request(payload)))
    assert (found == payload, reader.pending_bytes) == (True, 0)


def test_ten_thousand_idle_connections_share_a_few_buffers() -> None:
    pool = BufferPool(buffers_max=8)
    tracemalloc.start()
    readers = [RequestReader(pool) for _ in range(10_000)]
    for reader in readers:
        assert receive(reader, request(b"hello") + b"\x00\x00") == [b"hello"]
        reader.release_buffer()
    size_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size_bytes / len(readers) < 800
    assert [len(receive(reader, b"\x00\x01!")) for reader in readers[:3]] == [1, 1, 1]


def test_an_idle_reader_holds_nothing() -> None:
    reader = RequestReader(BufferPool())
    assert (reader.held_bytes, sys.getsizeof(reader) < 200) == (0, True)
    receive(reader, request(b"x"))
    assert reader.held_bytes == BUFFER_BYTES
    reader.release_buffer()
    assert reader.held_bytes == 0


def test_a_released_reader_keeps_only_the_bytes_of_its_unfinished_frame() -> None:
    pool = BufferPool()
    reader = RequestReader(pool)
    receive(reader, request(b"done") + request(b"unfinished")[:9])
    reader.release_buffer()
    reader.release_buffer()
    assert (reader.held_bytes, reader.pending_bytes) == (9, 9)
    pool.take()[:] = b"\xff" * BUFFER_BYTES
    assert receive(reader, b"ished") == [b"unfinished"]


def test_a_released_reader_goes_on_with_its_large_frame() -> None:
    pool = BufferPool(buffer_bytes=64)
    reader = RequestReader(pool)
    stream = request(b"abc" * 100)
    receive(reader, stream[:150])
    reader.release_buffer()
    other = RequestReader(pool)
    assert receive(other, request(b"other")) == [b"other"]
    assert receive(reader, stream[150:]) == [b"abc" * 100]


def test_the_pool_keeps_no_more_buffers_than_asked() -> None:
    pool = BufferPool(buffers_max=1)
    first, second = pool.take(), pool.take()
    pool.give(first)
    pool.give(second)
    assert pool.take() is first
    assert pool.take() is not second


def test_receiving_before_the_frames_were_taken_is_a_mistake_that_shows() -> None:
    reader = RequestReader(BufferPool(buffer_bytes=12))
    wanted = reader.wanted_buffer()
    wanted[:] = request(b"12345678")
    reader.received(12)
    with pytest.raises(AssertionError):
        reader.wanted_buffer()


def produce_request(size_bytes: int) -> bytes:
    return request(PRODUCE + bytes(size_bytes - len(PRODUCE)))


def test_requests_other_than_produce_have_a_limit_of_their_own() -> None:
    reader = RequestReader(BufferPool(), 4 * MIB, MIB)
    assert len(receive(reader, produce_request(2 * MIB))) == 1
    assert len(receive(reader, request(b"\0\1" + bytes(MIB - 2)))) == 1
    with pytest.raises(RequestTooLarge):
        receive(reader, request(b"\0\1" + bytes(MIB)))


def test_a_large_request_is_judged_once_its_kind_is_there() -> None:
    reader = RequestReader(BufferPool(), 4 * MIB, MIB)
    large = request(b"\0\1" + bytes(2 * MIB))
    assert receive(reader, large[:5]) == []
    with pytest.raises(RequestTooLarge, match=str(MIB)):
        receive(reader, large[5:6])


def test_the_head_of_a_large_request_is_there_before_it_is_taken() -> None:
    reader = RequestReader(BufferPool())
    assert not reader.large_head
    receive(reader, produce_request(MIB)[:1000])
    assert reader.large_head[:2] == PRODUCE
