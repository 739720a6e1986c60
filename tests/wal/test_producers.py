"""The producer table of a vnode: replay, durability, reversal, expiry, limits."""

from __future__ import annotations

import copy

import pytest

from tests.wal.logs import stamp
from wal.format import BATCH_PREFIX
from wal.producers import (
    NEW,
    Duplicate,
    OutOfOrderSequence,
    Producers,
    ProducerStamp,
    TransactionMarker,
)

DAY_MS = 24 * 3600 * 1000


def append(producers: Producers, stream_id: int, batch: ProducerStamp, offset: int, now_ms: int = 0) -> None:
    assert producers.of(stream_id).check(batch) == NEW
    producers.appended(stream_id, batch, base_offset=offset, timestamp_ms=offset * 10, now_ms=now_ms)


def expire_all(producers: Producers, now_ms: int) -> int:
    return sum(producers.expire(now_ms) for _ in range(10))


def batch_head(
    offset: int, first: int, count: int, *, producer: int = 7, epoch: int = 0, attributes: int = 0
) -> bytes:
    return BATCH_PREFIX.pack(
        offset, 49, 0, 2, 0, attributes, count - 1, 0, offset * 10, producer, epoch, first, count
    )


def marker_batch(offset: int, *, producer: int = 7, epoch: int = 0, kind: int = 1) -> bytes:
    record = b"\x00\x00\x00\x08\x00\x00" + kind.to_bytes(2, "big") + b"\x0c\x00\x00\x00\x00\x00\x05\x00"
    head = batch_head(offset, -1, 1, producer=producer, epoch=epoch, attributes=0x30)
    return head + bytes([2 * len(record)]) + record


def test_looking_at_a_stream_without_producers_keeps_nothing() -> None:
    producers = Producers()
    assert producers.of(5).check(stamp(0)) == NEW
    assert producers.snapshot().stream_ids == []


def test_streams_have_sequences_of_their_own() -> None:
    producers = Producers()
    append(producers, 1, stamp(0), offset=0)
    append(producers, 2, stamp(40), offset=0)
    assert producers.of(1).check(stamp(1)) == NEW
    assert producers.of(2).check(stamp(41)) == NEW


def test_what_is_appended_counts_before_it_is_durable() -> None:
    producers = Producers()
    append(producers, 1, stamp(0, 10), offset=100)
    assert producers.of(1).check(stamp(10)) == NEW
    assert producers.of(1).check(stamp(0, 10)) == Duplicate(100, 109, 1000)


def test_a_failed_sync_takes_back_everything_since_the_last_good_one() -> None:
    producers = Producers()
    append(producers, 1, stamp(0), offset=0)
    token = producers.token
    append(producers, 1, stamp(1), offset=1)
    append(producers, 2, stamp(0), offset=0)
    producers.durable(token)
    producers.revert()
    assert producers.of(1).check(stamp(1)) == NEW
    assert producers.of(1).check(stamp(0)) == Duplicate(0, 0, 0)
    assert producers.of(2).check(stamp(0)) == NEW
    assert producers.token == token


def test_what_was_sent_behind_a_lost_first_batch_is_out_of_order() -> None:
    producers = Producers()
    append(producers, 1, stamp(0), offset=0)
    append(producers, 1, stamp(1), offset=1)
    producers.revert()
    with pytest.raises(OutOfOrderSequence):
        producers.of(1).check(stamp(2))
    assert producers.of(1).check(stamp(0)) == NEW


def test_a_lost_batch_that_began_in_the_middle_leaves_its_producer_unknown() -> None:
    producers = Producers()
    append(producers, 1, stamp(40), offset=0)
    producers.revert()
    assert producers.of(1).check(stamp(55)) == NEW


def test_what_was_sent_behind_a_refused_first_batch_is_out_of_order() -> None:
    producers = Producers()
    producers.refused(1, stamp(0), now_ms=0)
    with pytest.raises(OutOfOrderSequence):
        producers.of(1).check(stamp(1))
    append(producers, 1, stamp(0), offset=0)
    producers.refused(1, stamp(1), now_ms=0)
    assert producers.of(1).check(stamp(1)) == NEW


def test_refused_batches_of_many_producers_are_not_kept_without_bound() -> None:
    producers = Producers(producers_per_stream_max=2)
    for producer_id in range(5):
        producers.refused(1, stamp(0, producer=producer_id), now_ms=0)
    assert len(producers.of(1).states) == 2


def test_taking_back_a_transaction_opens_and_closes_it_as_it_was() -> None:
    producers = Producers()
    append(producers, 1, stamp(0, transactional=True), offset=10)
    producers.durable(producers.token)
    producers.ended(1, TransactionMarker(7, 0, 0, is_commit=False), offset=11, now_ms=0)
    append(producers, 1, stamp(0, producer=8, transactional=True), offset=12)
    assert producers.of(1).aborted_between(0, 20) != []
    producers.revert()
    assert producers.of(1).aborted_between(0, 20) == []
    assert producers.of(1).last_stable_offset(20) == 10
    assert producers.of(1).check(stamp(1, transactional=True)) == NEW


def test_a_token_of_the_future_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        Producers().durable(1)


def test_replay_gives_the_state_that_appending_gave() -> None:
    live, replayed = Producers(), Producers()
    for number in range(8):
        append(live, 1, stamp(number * 3, 3, transactional=True), offset=number * 3, now_ms=number)
        replayed.replay(1, batch_head(number * 3, number * 3, 3, attributes=0x10), ingest_ms=number)
    live.ended(1, TransactionMarker(7, 1, 5, is_commit=False), offset=24, now_ms=9)
    replayed.replay(1, marker_batch(24, epoch=1, kind=0), ingest_ms=9)
    live.durable(live.token)
    assert replayed.snapshot() == live.snapshot()
    assert replayed.of(1).aborted_between(0, 99) == live.of(1).aborted_between(0, 99) != []


def test_replaying_what_the_state_knows_changes_nothing() -> None:
    producers = Producers()
    batches = [batch_head(number, number, 1, attributes=0x10) for number in range(7)] + [marker_batch(7)]
    batches += [batch_head(8, 7, 1, attributes=0x10), marker_batch(9, epoch=1)]
    for head in batches:
        producers.replay(1, head, ingest_ms=5)
    before = copy.deepcopy(producers.snapshot())
    for head in batches:
        producers.replay(1, head, ingest_ms=5)
    assert producers.snapshot() == before


def test_replay_passes_over_batches_without_a_producer_and_other_control_records() -> None:
    producers = Producers()
    producers.replay(1, batch_head(0, -1, 1, producer=-1), ingest_ms=0)
    producers.replay(1, marker_batch(1, kind=2), ingest_ms=0)
    assert producers.snapshot().stream_ids == []


def test_idle_producers_expire_a_day_after_their_last_append() -> None:
    producers = Producers()
    append(producers, 1, stamp(0, producer=1), offset=0, now_ms=0)
    append(producers, 1, stamp(0, producer=2), offset=1, now_ms=1000)
    append(producers, 1, stamp(1, producer=1), offset=2, now_ms=2000)
    assert expire_all(producers, DAY_MS + 999) == 0
    assert expire_all(producers, DAY_MS + 1000) == 1
    assert [each.producer_id for each in producers.of(1).describe()] == [1]
    assert producers.of(1).check(stamp(99, producer=2)) == NEW
    assert expire_all(producers, DAY_MS + 2000) == 1
    assert producers.snapshot().stream_ids == []


def test_old_record_timestamps_do_not_expire_a_producer() -> None:
    producers = Producers()
    producers.appended(1, stamp(0), base_offset=0, timestamp_ms=0, now_ms=10 * DAY_MS)
    assert expire_all(producers, 10 * DAY_MS + 1) == 0


def test_a_producer_with_an_open_transaction_does_not_expire() -> None:
    producers = Producers()
    append(producers, 1, stamp(0, transactional=True), offset=0)
    append(producers, 1, stamp(0, producer=8), offset=1)
    assert expire_all(producers, 10 * DAY_MS) == 1
    assert [each.producer_id for each in producers.of(1).describe()] == [7]


def test_expiry_goes_round_all_streams_a_few_at_a_time() -> None:
    producers = Producers()
    for stream_id in range(10):
        append(producers, stream_id, stamp(0), offset=0)
    counts = [producers.expire(10 * DAY_MS, stream_count=3) for _ in range(20)]
    assert sum(counts) == 10
    assert max(counts) <= 3


def test_a_stream_that_is_dropped_meanwhile_does_not_disturb_expiry() -> None:
    producers = Producers()
    for stream_id in range(3):
        append(producers, stream_id, stamp(0), offset=0)
    producers.expire(0, stream_count=1)
    producers.durable(producers.token)
    for stream_id in range(3):
        producers.drop_stream(stream_id)
    append(producers, 9, stamp(0), offset=0)
    assert expire_all(producers, 10 * DAY_MS) == 1


def test_the_producer_idle_for_longest_makes_room() -> None:
    producers = Producers(producers_per_stream_max=2)
    append(producers, 1, stamp(0, producer=1), offset=0)
    append(producers, 1, stamp(0, producer=2), offset=1)
    append(producers, 1, stamp(1, producer=1), offset=2)
    append(producers, 1, stamp(0, producer=3), offset=3)
    assert [each.producer_id for each in producers.of(1).describe()] == [1, 3]


def test_an_eviction_is_taken_back_with_the_append_that_caused_it() -> None:
    producers = Producers(producers_per_stream_max=1)
    append(producers, 1, stamp(4, producer=1), offset=0)
    producers.durable(producers.token)
    append(producers, 1, stamp(0, producer=2), offset=1)
    producers.revert()
    with pytest.raises(OutOfOrderSequence):
        producers.of(1).check(stamp(9, producer=1))


def test_a_producer_with_an_open_transaction_is_not_evicted() -> None:
    producers = Producers(producers_per_stream_max=1)
    append(producers, 1, stamp(0, producer=1, transactional=True), offset=0)
    append(producers, 1, stamp(0, producer=2), offset=1)
    append(producers, 1, stamp(0, producer=3), offset=2)
    assert [each.producer_id for each in producers.of(1).describe()] == [1, 3]


def test_a_dropped_stream_is_forgotten() -> None:
    producers = Producers()
    append(producers, 1, stamp(4), offset=0)
    producers.durable(producers.token)
    producers.drop_stream(1)
    producers.drop_stream(1)
    assert producers.of(1).check(stamp(0)) == NEW


def test_retries_are_known_after_their_records_were_deleted() -> None:
    producers = Producers()
    append(producers, 1, stamp(0, 10, transactional=True), offset=0)
    producers.ended(1, TransactionMarker(7, 0, 0, is_commit=False), offset=10, now_ms=0)
    producers.log_start_moved(1, 11)
    producers.log_start_moved(2, 11)
    assert producers.of(1).aborted_between(0, 100) == []
    assert producers.of(1).check(stamp(0, 10)) == Duplicate(0, 9, 0)


def test_streams_with_an_undecided_transaction_are_told_until_its_marker_is_durable() -> None:
    producers = Producers()
    append(producers, 1, stamp(0), offset=0)
    append(producers, 2, stamp(0, transactional=True), offset=0)
    assert producers.undecided_streams() == [2]
    producers.ended(2, TransactionMarker(7, 0, 5, is_commit=True), offset=1, now_ms=0)
    assert producers.undecided_streams() == [2]
    assert producers.of(2).last_stable_offset(2) == 2
    assert not list(producers.hanging_streams(0))
    assert producers.undecided_streams() == []
