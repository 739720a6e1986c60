"""A snapshot of the producer table comes back as it was, or not at all."""

from __future__ import annotations

import pytest

from wal.producer_snapshot import ProducerSnapshot, decode, encode
from wal.producers import Producers, ProducerStamp, TransactionMarker


def table() -> Producers:
    producers = Producers()
    for stream_id in range(3):
        for producer_id in range(stream_id + 1):
            for number in range(7):
                stamp = ProducerStamp(producer_id, 0, number, 1, is_transactional=stream_id == 2)
                producers.appended(stream_id, stamp, base_offset=number, timestamp_ms=number * 1000, now_ms=5)
    producers.ended(2, TransactionMarker(0, 0, 4, is_commit=False), offset=7, now_ms=6)
    producers.durable(producers.token)
    return producers


def views(producers: Producers) -> list[object]:
    return [
        (producers.of(stream_id).describe(), producers.of(stream_id).aborted_between(0, 100))
        for stream_id in range(4)
    ]


def test_a_table_comes_back_from_its_bytes() -> None:
    producers = table()
    data = encode(producers.snapshot())
    for copy in (data, memoryview(data)):
        restored = Producers()
        restored.restore(decode(copy))
        assert views(restored) == views(producers)
        assert restored.of(2).last_stable_offset(50) == producers.of(2).last_stable_offset(50)
        assert encode(restored.snapshot()) == data


def test_an_empty_table_comes_back_empty() -> None:
    assert encode(decode(encode(ProducerSnapshot()))) == encode(Producers().snapshot())


def test_restoring_forgets_what_was_there() -> None:
    producers = table()
    token = producers.token
    producers.restore(ProducerSnapshot())
    assert views(producers) == views(Producers())
    assert producers.token == token


def test_a_snapshot_cut_at_any_byte_is_refused() -> None:
    data = encode(table().snapshot())
    for length in range(len(data)):
        with pytest.raises(ValueError, match="a producer snapshot"):
            decode(data[:length])
    with pytest.raises(ValueError, match="bytes, not the"):
        decode(data + b"\0")


def test_counts_that_do_not_add_up_are_refused() -> None:
    data = bytearray(encode(table().snapshot()))
    first_producer_count = 24 + 3 * 8
    data[first_producer_count] += 1
    with pytest.raises(ValueError, match="a producer snapshot counts"):
        decode(bytes(data))


def test_a_state_of_an_impossible_size_is_refused() -> None:
    snapshot = table().snapshot()
    snapshot.states[0][0] += b"x"
    with pytest.raises(ValueError, match="a size that no state has"):
        decode(encode(snapshot))


def test_changes_after_a_snapshot_do_not_reach_it() -> None:
    producers = table()
    snapshot = producers.snapshot()
    data = encode(snapshot)
    producers.appended(0, ProducerStamp(0, 0, 7, 1), base_offset=7, timestamp_ms=0, now_ms=9)
    producers.ended(2, TransactionMarker(1, 0, 4, is_commit=False), offset=8, now_ms=9)
    producers.expire(10**12)
    assert encode(snapshot) == data
    restored = Producers()
    restored.restore(snapshot)
    restored.appended(0, ProducerStamp(0, 0, 7, 1), base_offset=7, timestamp_ms=0, now_ms=9)
    restored.ended(2, TransactionMarker(1, 0, 4, is_commit=False), offset=8, now_ms=9)
    assert encode(snapshot) == data


def test_another_format_is_refused() -> None:
    data = bytearray(encode(table().snapshot()))
    data[0] += 1
    with pytest.raises(ValueError, match="format 2"):
        decode(bytes(data))
