"""The memory of a vnode's producers: what is counted, and those that are forgotten when it is full."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from tests.wal.logs import stamp
from tests.wal.test_producers import append, expire_all
from wal import stream_producers
from wal.options import LogOptions
from wal.producer_snapshot import ProducerSnapshot
from wal.producers import (
    LOOKED_AT_MAX,
    NEW,
    PRODUCER_BYTES,
    STREAM_BYTES,
    STREAMS_PER_STEP,
    Duplicate,
    Producers,
    StreamProducers,
    TransactionMarker,
)

FIRST_BYTES = STREAM_BYTES + PRODUCER_BYTES
DAY_MS = 24 * 3600 * 1000


def known(producers: Producers, stream_id: int) -> list[int]:
    return [each.producer_id for each in producers.of(stream_id).describe()]


def test_producers_of_ever_more_streams_take_no_more_memory_than_they_may() -> None:
    producers = Producers(bytes_max=100 * FIRST_BYTES)
    for stream_id in range(1_000):
        append(producers, stream_id, stamp(0), offset=0, now_ms=stream_id)
        assert producers.size_bytes <= 101 * FIRST_BYTES
    assert known(producers, 0) == []
    assert known(producers, 999) == [7]


def test_ever_more_producers_of_many_streams_take_no_more_memory_than_they_may() -> None:
    producers = Producers(bytes_max=200 * FIRST_BYTES)
    for now_ms in range(50):
        for stream_id in range(100):
            append(producers, stream_id, stamp(0, producer=now_ms), offset=now_ms, now_ms=now_ms)
    assert producers.size_bytes <= 201 * FIRST_BYTES
    assert all(known(producers, stream_id)[-1] == 49 for stream_id in range(100))


def test_a_producer_that_writes_now_and_then_is_remembered_however_many_others_come() -> None:
    producers = Producers(bytes_max=100 * FIRST_BYTES)
    for now_ms in range(2_000):
        append(producers, 1_000 + now_ms, stamp(0), offset=0, now_ms=now_ms)
        if now_ms % 20 == 0:
            append(producers, 1, stamp(now_ms // 20, producer=1), offset=now_ms // 20, now_ms=now_ms)
    assert producers.of(1).check(stamp(99, producer=1)) == Duplicate(99, 99, 990)


def test_a_producer_with_an_open_transaction_is_not_forgotten_for_lack_of_memory() -> None:
    producers = Producers(bytes_max=10 * FIRST_BYTES)
    append(producers, 1, stamp(0, producer=1, transactional=True), offset=0)
    for now_ms in range(1, 100):
        append(producers, 1 + now_ms, stamp(0), offset=0, now_ms=now_ms)
    assert known(producers, 1) == [1]
    producers.ended(1, TransactionMarker(1, 0, 0, True), offset=1, now_ms=100)
    for now_ms in range(101, 200):
        append(producers, 1 + now_ms, stamp(0), offset=0, now_ms=now_ms)
    assert known(producers, 1) == []


def test_one_append_looks_at_a_few_streams_however_many_have_open_transactions() -> None:
    producers = Producers(bytes_max=FIRST_BYTES)
    for stream_id in range(10 * LOOKED_AT_MAX):
        append(producers, stream_id, stamp(0, transactional=True), offset=0)
    watched = Watched(producers._streams)
    producers._streams = watched
    producers.appended(5_000, stamp(0), base_offset=0, timestamp_ms=0, now_ms=9)
    assert watched.asked <= LOOKED_AT_MAX + 5


class Watched(dict[int, StreamProducers]):
    """A table that counts its look-ups, and cannot be gone through."""

    asked = 0

    def get(self, key: int, default: Any = None) -> Any:
        self.asked += 1
        return super().get(key, default)

    def __getitem__(self, key: int) -> StreamProducers:
        self.asked += 1
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("all streams are listed")


def test_no_append_and_no_expiry_does_work_that_grows_with_the_number_of_streams() -> None:
    producers = Producers(bytes_max=500 * FIRST_BYTES)
    watched = producers._row._streams = producers._streams = Watched()
    for stream_id in range(3_000):
        append(producers, stream_id, stamp(0), offset=0, now_ms=stream_id)
        producers.expire(stream_id, stream_count=2)
    assert len(watched) <= 501
    assert watched.asked <= 3_000 * 12


def test_a_partition_whose_producers_all_have_transactions_is_not_searched_for_one_without() -> None:
    stream = StreamProducers()
    for producer in range(1_000):
        stream.put(
            producer,
            stream.state_after(
                stamp(0, producer=producer, transactional=True),
                base_offset=producer,
                timestamp_ms=0,
                now_ms=0,
            ),
        )
    looked = [stream.maybe_idle_longest() for _ in range(3)]
    assert looked == [None, None, None]
    assert next(iter(stream.states)) == 3 * stream_producers.LOOKED_AT_MAX
    stream.put(5_000, stream.state_after(stamp(0, producer=5_000), base_offset=0, timestamp_ms=0, now_ms=0))
    found = (stream.maybe_idle_longest() for _ in range(1_000))
    assert next(filter(None, found)) == 5_000


def hanging(producers: Producers) -> int:
    steps = producers.hanging_streams(1)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return int(end.value)


def test_streams_without_a_transaction_are_not_looked_at_for_those_that_hang() -> None:
    producers = Producers()
    for stream_id in range(1_000):
        append(producers, stream_id, stamp(0), offset=0)
    append(producers, 5_000, stamp(0, transactional=True), offset=0)
    append(producers, 5_001, stamp(0, transactional=True), offset=0)
    producers.ended(5_001, TransactionMarker(7, 0, 0, True), offset=1, now_ms=0)
    producers.of(5_001).last_stable_offset(2)
    producers.durable(producers.token)
    watched = producers._row._streams = producers._streams = Watched(producers._streams)
    assert (hanging(producers), producers.undecided_streams()) == (1, [5_000])
    assert watched.asked < 10
    producers._streams = dict(watched.items())
    restored = Producers()
    restored.restore(producers.snapshot())
    assert restored.undecided_streams() == [5_000]
    restored.drop_stream(5_000)
    assert restored.undecided_streams() == []


def test_streams_with_transactions_are_looked_through_and_captured_in_steps() -> None:
    """A scrape of the metrics took 145 ms for 57,000 of them, a checkpoint 155."""
    producers = Producers()
    for stream_id in range(3 * STREAMS_PER_STEP):
        append(producers, stream_id, stamp(0, transactional=True), offset=0)
    steps = producers.hanging_streams(1)
    next(steps)
    producers.drop_stream(3 * STREAMS_PER_STEP - 1)
    assert [next(steps, "done") for _ in range(3)] == [None, None, "done"]
    assert hanging(producers) == 3 * STREAMS_PER_STEP - 1
    producers.durable(producers.token)
    snapshot = ProducerSnapshot()
    producers.capture(range(10), snapshot)
    append(producers, 3, stamp(1, transactional=True), offset=1)
    append(producers, 12, stamp(1, transactional=True), offset=1)
    producers.drop_stream(11)
    producers.capture(range(10, 14), snapshot)
    assert snapshot.stream_ids == [*range(11), 12, 13]
    assert len(set(map(str, snapshot.states))) == 1, "what is not durable is in no slice"


def test_what_was_forgotten_for_lack_of_memory_is_taken_back_with_the_append_that_caused_it() -> None:
    producers = Producers(bytes_max=FIRST_BYTES)
    append(producers, 1, stamp(4, producer=1), offset=0, now_ms=1)
    producers.durable(producers.token)
    append(producers, 2, stamp(0, producer=2), offset=1, now_ms=2)
    assert known(producers, 1) == []
    producers.revert()
    assert producers.of(1).check(stamp(4, producer=1)) == Duplicate(0, 0, 0)


def test_refused_batches_of_producers_in_many_streams_are_not_kept_without_bound() -> None:
    producers = Producers(bytes_max=10 * FIRST_BYTES)
    for now_ms in range(100):
        producers.refused(now_ms, stamp(0), now_ms=now_ms)
    assert producers.size_bytes <= 11 * FIRST_BYTES


def test_markers_of_producers_in_many_streams_are_not_kept_without_bound() -> None:
    producers = Producers(bytes_max=10 * FIRST_BYTES)
    for now_ms in range(100):
        producers.ended(now_ms, TransactionMarker(7, 0, 0, True), offset=0, now_ms=now_ms)
    assert producers.size_bytes <= 11 * FIRST_BYTES


def test_what_expires_is_dropped_or_replaced_counts_no_more() -> None:
    producers = Producers()
    for stream_id in range(5):
        append(producers, stream_id, stamp(0), offset=0)
    append(producers, 0, stamp(0, producer=8), offset=1, now_ms=DAY_MS)
    producers.drop_stream(1)
    producers.drop_stream(77)
    assert producers.size_bytes == 4 * FIRST_BYTES + PRODUCER_BYTES
    assert expire_all(producers, DAY_MS + 1) == 4
    assert producers.size_bytes == FIRST_BYTES
    producers.durable(producers.token)
    restored = Producers()
    restored.restore(producers.snapshot())
    assert restored.size_bytes == FIRST_BYTES


def test_changed_limits_take_effect_with_the_next_batch() -> None:
    producers = Producers()
    for stream_id in range(10):
        append(producers, stream_id, stamp(0), offset=0)
    producers.configure(LogOptions(producers_bytes_max=5 * FIRST_BYTES))
    append(producers, 10, stamp(0), offset=0, now_ms=1)
    assert producers.size_bytes <= 5 * FIRST_BYTES
    assert producers.of(10).check(stamp(1)) == NEW


@pytest.mark.parametrize(("streams", "each"), [(5_000, 1), (2_000, 4), (50, 200)])
@pytest.mark.parametrize("batches", [1, 5])
def test_what_is_counted_is_about_what_it_takes(streams: int, each: int, batches: int) -> None:
    tracemalloc.start()
    try:
        producers = filled(streams, each, batches)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.7 * taken < producers.size_bytes < 1.8 * taken


def filled(streams: int, each: int, batches: int) -> Producers:
    """Return the producers of some streams, each of which has written some batches."""
    producers = Producers()
    for number in range(batches):
        for stream_id in range(streams):
            for producer in range(1_000, 1_000 + each):
                append(producers, stream_id, stamp(number, producer=producer), offset=number)
    producers.durable(producers.token)
    return producers


def test_a_log_that_has_forgotten_producers_says_so_of_every_stream() -> None:
    producers = Producers(bytes_max=10 * FIRST_BYTES)
    append(producers, 1, stamp(0), offset=0)
    assert not producers.is_full(1)
    for now_ms in range(20):
        append(producers, 10 + now_ms, stamp(0), offset=0, now_ms=now_ms)
    assert producers.forgotten > 0
    for stream_id in range(40):
        producers.drop_stream(stream_id)
    assert producers.is_full(1)


def test_a_log_that_was_full_before_a_start_may_have_forgotten_producers() -> None:
    before = Producers()
    for stream_id in range(10):
        append(before, stream_id, stamp(0), offset=0)
    before.durable(before.token)
    producers = Producers(bytes_max=10 * FIRST_BYTES)
    producers.restore(before.snapshot())
    assert producers.is_full(99)


@pytest.mark.parametrize("committed", [True, False])
def test_of_decided_transactions_only_aborted_ones_leave_something_behind(committed: bool) -> None:
    """Of each ended one 130 bytes stayed until a reader asked, up to a thousand times in every partition."""
    producers = Producers()
    for number in range(3):
        append(producers, 1, stamp(number, transactional=True), offset=2 * number)
        producers.ended(1, TransactionMarker(7, 0, 0, committed), offset=2 * number + 1, now_ms=0)
        assert producers.undecided_streams() == [1]
        producers.durable(producers.token - 1)
        assert producers.undecided_streams() == [1], "its marker may be lost"
        assert producers.of(1).last_stable_offset(100) == 100
        producers.durable(producers.token)
        assert producers.undecided_streams() == []
    if committed:
        assert producers.of(1).transactions is None
    else:
        assert [found.last_offset for found in producers.of(1).aborted_between(0, 100)] == [1, 3, 5]


def test_a_durable_marker_does_not_decide_the_transactions_whose_markers_come_later() -> None:
    producers = Producers()
    for number in range(2):
        append(producers, 1, stamp(number, transactional=True), offset=2 * number)
        producers.ended(1, TransactionMarker(7, 0, 0, True), offset=2 * number + 1, now_ms=0)
    producers.durable(producers.token - 2)
    assert producers.of(1).last_stable_offset(3) == 2
    assert producers.undecided_streams() == [1]


def test_what_is_synced_but_not_stored_remotely_stays_undecided_until_it_is_in_the_high_watermark() -> None:
    producers = Producers()
    producers.configure(LogOptions(durability="remote"))
    append(producers, 1, stamp(0, transactional=True), offset=0)
    producers.ended(1, TransactionMarker(7, 0, 0, True), offset=1, now_ms=0)
    producers.durable(producers.token)
    assert producers.of(1).last_stable_offset(1) == 0
    assert producers.of(1).last_stable_offset(2) == 2
