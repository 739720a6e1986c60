"""The sequence rules of one stream, in Kafka's order."""

from __future__ import annotations

import pytest

from tests.wal.logs import stamp
from wal.format import BATCH_PREFIX, BatchPrefix
from wal.producer_errors import (
    CoordinatorFenced,
    InvalidProducerEpoch,
    InvalidSequence,
    InvalidTransactionState,
    OutOfOrderSequence,
)
from wal.stream_producers import (
    NEW,
    Duplicate,
    ProducerDescription,
    ProducerStamp,
    StreamProducers,
    sequenceless,
    stamp_of,
)
from wal.transactions import CONTROL_BIT, TRANSACTIONAL_BIT, TransactionMarker

MAX_SEQUENCE = 2**31 - 1


def store(stream: StreamProducers, batch: ProducerStamp, offset: int = 0, timestamp_ms: int = 0) -> None:
    state = stream.state_after(batch, base_offset=offset, timestamp_ms=timestamp_ms, now_ms=0)
    stream.put(batch.producer_id, state)


def stream_with(*batches: ProducerStamp) -> StreamProducers:
    stream = StreamProducers()
    for number, batch in enumerate(batches):
        assert stream.check(batch) == NEW
        store(stream, batch, offset=100 * number, timestamp_ms=1000 + number)
    return stream


@pytest.mark.parametrize("first", [0, 5, MAX_SEQUENCE])
@pytest.mark.parametrize("epoch", [0, 3])
def test_an_unknown_producer_may_begin_at_any_sequence(first: int, epoch: int) -> None:
    assert StreamProducers().check(stamp(first, epoch=epoch)) == NEW


def test_the_next_sequence_is_the_one_after_the_last_record() -> None:
    stream = stream_with(stamp(0, 10))
    assert stream.check(stamp(10)) == NEW
    for wrong in (9, 11, 12):
        with pytest.raises(OutOfOrderSequence) as caught:
            stream.check(stamp(wrong))
        assert (caught.value.sequence, caught.value.expected_sequence, caught.value.epoch) == (wrong, 10, 0)


def test_sequences_wrap_to_zero() -> None:
    stream = stream_with(stamp(MAX_SEQUENCE))
    assert stream.check(stamp(0)) == NEW
    with pytest.raises(OutOfOrderSequence):
        stream.check(stamp(1))


def test_sequences_wrap_inside_a_batch() -> None:
    stream = stream_with(stamp(MAX_SEQUENCE - 2, 10))
    assert stream.check(stamp(7)) == NEW
    assert stream.check(stamp(MAX_SEQUENCE - 2, 10)) == Duplicate(0, 9, 1000)


def test_each_of_the_last_five_batches_is_a_duplicate_with_its_old_offset_and_timestamp() -> None:
    stream = stream_with(*(stamp(number * 10, 10) for number in range(6)))
    for number in range(1, 6):
        assert stream.check(stamp(number * 10, 10)) == Duplicate(
            100 * number, 100 * number + 9, 1000 + number
        )


def test_the_sixth_last_batch_is_out_of_order() -> None:
    stream = stream_with(*(stamp(number * 10, 10) for number in range(6)))
    with pytest.raises(OutOfOrderSequence):
        stream.check(stamp(0, 10))


def test_a_batch_that_overlaps_a_stored_one_is_no_duplicate() -> None:
    stream = stream_with(stamp(0, 10), stamp(10, 10))
    for first, count in ((0, 9), (0, 20), (5, 5), (10, 11)):
        with pytest.raises(OutOfOrderSequence):
            stream.check(stamp(first, count))


def test_an_older_epoch_is_refused_even_with_the_next_sequence() -> None:
    stream = stream_with(stamp(0, epoch=3))
    for first in (0, 1):
        with pytest.raises(InvalidProducerEpoch) as caught:
            stream.check(stamp(first, epoch=2))
        assert (caught.value.epoch, caught.value.current_epoch) == (2, 3)


def test_a_new_epoch_begins_at_zero() -> None:
    stream = stream_with(stamp(0, 10))
    assert stream.check(stamp(0, epoch=1)) == NEW
    with pytest.raises(OutOfOrderSequence) as caught:
        stream.check(stamp(10, epoch=1))
    assert caught.value.expected_sequence == 0


def test_a_new_epoch_forgets_the_batches_of_the_old_one() -> None:
    stream = stream_with(stamp(0, 10), stamp(0, 10, epoch=1))
    assert stream.check(stamp(0, 10, epoch=1)) == Duplicate(100, 109, 1001)
    with pytest.raises(InvalidProducerEpoch):
        stream.check(stamp(0, 10, epoch=0))


def test_a_sequence_below_zero_is_no_sequence() -> None:
    for stream in (StreamProducers(), stream_with(stamp(0))):
        with pytest.raises(InvalidSequence) as caught:
            stream.check(stamp(-1))
        assert caught.value.sequence == -1


def test_producers_do_not_disturb_each_other() -> None:
    stream = stream_with(stamp(0, producer=1), stamp(5, producer=2), stamp(1, producer=1))
    assert stream.check(stamp(6, producer=2)) == NEW
    assert stream.check(stamp(2, producer=1)) == NEW
    assert stream.check(stamp(0, producer=1)) == Duplicate(0, 0, 1000)


def test_a_batch_outside_the_open_transaction_is_refused() -> None:
    stream = stream_with(stamp(0, transactional=True))
    assert stream.check(stamp(1, transactional=True)) == NEW
    with pytest.raises(InvalidTransactionState) as caught:
        stream.check(stamp(1))
    assert caught.value.first_offset == 0


def test_a_retry_is_a_duplicate_before_it_is_anything_else() -> None:
    stream = stream_with(stamp(0, transactional=True))
    assert stream.check(stamp(0)) == Duplicate(0, 0, 1000)


def test_after_its_marker_a_producer_goes_on_where_it_was() -> None:
    stream = stream_with(stamp(0, 10, transactional=True))
    marker = TransactionMarker(7, 0, coordinator_epoch=4, is_commit=True)
    assert stream.check_marker(marker, bumps_epoch=False)
    stream.put(7, stream.state_after_marker(marker, now_ms=0))
    assert stream.check(stamp(10)) == NEW
    assert stream.check(stamp(0, 10)) == Duplicate(0, 9, 1000)


def test_after_a_marker_that_raised_the_epoch_a_producer_begins_at_zero() -> None:
    stream = stream_with(stamp(0, 10, transactional=True))
    stream.put(7, stream.state_after_marker(TransactionMarker(7, 1, 4, is_commit=False), now_ms=0))
    assert stream.check(stamp(0, epoch=1)) == NEW
    with pytest.raises(OutOfOrderSequence):
        stream.check(stamp(10, epoch=1))
    with pytest.raises(InvalidProducerEpoch):
        stream.check(stamp(10, epoch=0))


@pytest.mark.parametrize("bumps_epoch", [False, True])
def test_a_marker_of_an_unknown_producer_is_appended(bumps_epoch: bool) -> None:
    assert StreamProducers().check_marker(TransactionMarker(7, 3, 0, is_commit=True), bumps_epoch=bumps_epoch)


def test_a_marker_of_an_older_epoch_is_refused() -> None:
    stream = stream_with(stamp(0, epoch=3, transactional=True))
    for bumps_epoch in (False, True):
        with pytest.raises(InvalidProducerEpoch):
            stream.check_marker(TransactionMarker(7, 2, 0, is_commit=True), bumps_epoch=bumps_epoch)


def test_a_marker_that_bumps_the_epoch_must_be_above_the_batches() -> None:
    stream = stream_with(stamp(0, epoch=3, transactional=True))
    assert stream.check_marker(TransactionMarker(7, 4, 0, is_commit=True), bumps_epoch=True)
    with pytest.raises(InvalidProducerEpoch):
        stream.check_marker(TransactionMarker(7, 3, 0, is_commit=True), bumps_epoch=True)


def test_a_repeated_marker_that_bumped_the_epoch_is_done_already() -> None:
    stream = stream_with(stamp(0, epoch=3, transactional=True))
    marker = TransactionMarker(7, 4, 0, is_commit=True)
    stream.put(7, stream.state_after_marker(marker, now_ms=0))
    assert not stream.check_marker(marker, bumps_epoch=True)


def test_a_marker_of_a_replaced_coordinator_is_refused() -> None:
    stream = stream_with(stamp(0, transactional=True))
    stream.put(7, stream.state_after_marker(TransactionMarker(7, 0, 5, is_commit=True), now_ms=0))
    assert stream.check_marker(TransactionMarker(7, 0, 5, is_commit=True), bumps_epoch=False)
    with pytest.raises(CoordinatorFenced) as caught:
        stream.check_marker(TransactionMarker(7, 0, 4, is_commit=True), bumps_epoch=False)
    assert (caught.value.coordinator_epoch, caught.value.current_epoch) == (4, 5)


def test_producers_are_described_by_their_last_batch() -> None:
    stream = stream_with(stamp(MAX_SEQUENCE, producer=1), stamp(4, 3, producer=2, transactional=True))
    stream.put(3, stream.state_after_marker(TransactionMarker(3, 2, 9, is_commit=True), now_ms=0))
    assert stream.describe() == [
        ProducerDescription(1, 0, MAX_SEQUENCE, 1000, -1, -1),
        ProducerDescription(2, 0, 6, 1001, -1, 100),
        ProducerDescription(3, 2, -1, -1, 9, -1),
    ]


def test_without_transactions_everything_below_the_high_watermark_is_stable() -> None:
    stream = stream_with(stamp(0))
    assert (stream.last_stable_offset(50), stream.aborted_between(0, 50)) == (50, [])


def test_the_last_stable_offset_is_never_below_the_log_start() -> None:
    stream = stream_with(stamp(0, transactional=True))
    assert (stream.last_stable_offset(50), stream.last_stable_offset(50, 30)) == (0, 30)


def prefix(attributes: int, producer_id: int) -> BatchPrefix:
    packed = BATCH_PREFIX.pack(5, 49, 0, 2, 0, attributes, 9, 100, 200, producer_id, 3, 40, 10)
    return BatchPrefix._make(BATCH_PREFIX.unpack(packed))


def test_a_stamp_is_read_from_a_batch_prefix() -> None:
    assert stamp_of(prefix(0, 7)) == ProducerStamp(7, 3, 40, 10, is_transactional=False)
    assert stamp_of(prefix(TRANSACTIONAL_BIT, 7)) == ProducerStamp(7, 3, 40, 10, is_transactional=True)


def test_batches_without_a_producer_and_markers_have_no_stamp() -> None:
    assert stamp_of(prefix(0, -1)) is None
    assert stamp_of(prefix(TRANSACTIONAL_BIT | CONTROL_BIT, 7)._replace(base_sequence=-1)) is None


def test_a_control_batch_with_a_sequence_is_what_is_left_of_a_batch() -> None:
    assert stamp_of(prefix(TRANSACTIONAL_BIT | CONTROL_BIT, 7)) == ProducerStamp(7, 3, 40, 10, True)


def test_a_batch_without_a_sequence_begins_a_transaction_and_leaves_the_others_as_they_are() -> None:
    producers = StreamProducers()
    for number in range(6):
        stamp = ProducerStamp(7, 1, number, 1, True)
        assert producers.check(stamp) == NEW
        state = producers.state_after(stamp, base_offset=number, timestamp_ms=0, now_ms=0)
        producers.put(7, state)
        moved = sequenceless(stamp, 2)
        assert moved is not None
        producers.put(7, producers.state_after(moved, base_offset=50 + number, timestamp_ms=0, now_ms=0))
    assert producers.has_open(7, 1)
    for number in range(1, 6):
        again = producers.check(ProducerStamp(7, 1, number, 1, True))
        assert isinstance(again, Duplicate)
        assert again.base_offset == number
    assert producers.check(ProducerStamp(7, 1, 6, 1, True)) == NEW
    assert producers.describe()[0].last_sequence == 5
    assert sequenceless(ProducerStamp(7, 1, 0, 1), 1) is None
