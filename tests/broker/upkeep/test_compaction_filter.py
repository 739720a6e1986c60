"""The records left of a batch, compared with a model; and the purpose of batches without records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.upkeep.compaction_filter import BatchFilter, LastRecord, note_keys
from broker.upkeep.compaction_keys import KeyOffsets
from broker.upkeep.compaction_transactions import CleanedTransactions
from protocol.compression import Codec
from protocol.errors import Malformed
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch, left_behind_batch, transaction_marker_batch
from protocol.records import DELETE_HORIZON, check_crc, patch_append_time, read_batch_header, renew_crc
from wal.producers import AbortedTransaction

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def filtering(batches: list[bytearray], **changes: Any) -> BatchFilter:
    """Return a filter that knows the keys of these batches."""
    aborted = changes.pop("aborted", [])
    keys, met = KeyOffsets(0), CleanedTransactions(aborted)
    for batch in batches:
        note_keys(keys, met, memoryview(batch), 0)
    options: dict[str, Any] = {
        "aborted": aborted,
        "producers": {},
        "clean_end": 1 << 40,
        "now_ms": NOW_MS,
        "delete_retention_ms": DAY_MS,
        **changes,
    }
    return BatchFilter(keys, **options)


def left(batches: list[bytearray], **changes: Any) -> list[bytes | None]:
    batch_filter = filtering(batches, **changes)
    found = [batch_filter.left_of(memoryview(batch)) for batch in batches]
    return [None if batch is None else bytes(batch) for batch in found]


def batch_of(offset: int, *pairs: tuple[bytes | None, bytes | None], **options: Any) -> bytearray:
    records = [Record(offset + i, NOW_MS - HOUR_MS + i, *pair) for i, pair in enumerate(pairs)]
    return encode_batch(records, **options)


def marker(offset: int, *, commit: bool = True) -> bytearray:
    return transaction_marker_batch(
        commit=commit,
        offset=offset,
        timestamp_ms=NOW_MS,
        producer_id=7,
        producer_epoch=3,
        coordinator_epoch=0,
    )


def test_a_batch_all_of_whose_records_stay_is_left_byte_for_byte() -> None:
    batch = batch_of(0, (b"a", b"1"), (b"b", b"2"), codec=Codec.ZSTD)
    assert left([batch]) == [bytes(batch)]


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_left_keeps_codec_offsets_and_producer(codec: Codec) -> None:
    pairs = [(b"a", b"1"), (b"b", b"x" * 100), (b"a", b"3")]
    first = batch_of(
        10, *pairs, codec=codec, producer_id=7, producer_epoch=2, base_sequence=40, leader_epoch=5
    )

    (found,) = left([first])

    assert found is not None
    check_crc(found)
    before, after = read_batch_header(first), read_batch_header(found)
    same = ("base_offset", "last_offset", "codec", "leader_epoch", "producer_id", "producer_epoch")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert (after.base_sequence, after.record_count, after.attributes) == (40, 2, before.attributes)
    assert [(record.offset, record.key) for record in iter_records(found)] == [(11, b"b"), (12, b"a")]
    assert after.max_timestamp == NOW_MS - HOUR_MS + 2


def test_the_highest_timestamp_is_that_of_what_is_left() -> None:
    records = [Record(0, 9_000, b"a", b"1"), Record(1, 5_000, b"b", b"2")]
    first, second = encode_batch(records), batch_of(2, (b"a", b"3"))
    found = left([first, second])[0]
    assert found is not None
    assert read_batch_header(found).max_timestamp == 5_000
    assert list(iter_records(found)) == [records[1]]


def test_append_time_stays_that_of_the_batch() -> None:
    first, second = batch_of(0, (b"a", b"1"), (b"b", b"2")), batch_of(2, (b"b", b"3"))
    patch_append_time(first, NOW_MS - 5)
    found = left([first, second])[0]
    assert found is not None
    assert read_batch_header(found).is_append_time
    assert [record.timestamp_ms for record in iter_records(found)] == [NOW_MS - 5]


def test_records_without_key_go() -> None:
    assert left([batch_of(0, (None, b"1"))]) == [None]


def test_a_tombstone_gets_a_horizon_and_goes_behind_it() -> None:
    batch = batch_of(0, (b"a", None), (b"b", b"2"), codec=Codec.LZ4)

    batch_filter = filtering([batch])
    marked = batch_filter.left_of(memoryview(batch))

    assert marked is not None
    header = read_batch_header(marked)
    check_crc(marked)
    assert header.attributes & DELETE_HORIZON
    assert header.base_timestamp == NOW_MS + DAY_MS == batch_filter.earliest_horizon_ms
    assert list(iter_records(marked)) == list(iter_records(batch)), "times count from the horizon now"
    again = bytearray(marked)
    assert left([again], now_ms=NOW_MS + DAY_MS - 1) == [bytes(marked)]
    (last,) = left([again], now_ms=NOW_MS + DAY_MS)
    assert last is not None
    assert [record.key for record in iter_records(last)] == [b"b"]
    assert read_batch_header(last).base_timestamp == NOW_MS + DAY_MS


def test_a_superseded_tombstone_goes_at_once() -> None:
    assert left([batch_of(0, (b"a", None)), batch_of(1, (b"a", b"1"))])[0] is None


def test_the_last_batch_of_an_active_producer_stays_without_records() -> None:
    first = batch_of(0, (b"a", b"1"), codec=Codec.GZIP, producer_id=7, producer_epoch=2, base_sequence=40)
    second = batch_of(1, (b"a", b"2"))

    (empty, _) = left([first, second], producers={7: LastRecord(0, 2)})

    assert empty is not None
    check_crc(empty)
    header = read_batch_header(empty)
    assert (header.record_count, header.codec, header.base_offset, header.last_offset) == (0, 0, 0, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 40)
    assert left([bytearray(empty)], producers={7: LastRecord(0, 2)}) == [empty]
    assert left([bytearray(empty)], producers={7: LastRecord(9, 2)}) == [None]
    assert left([bytearray(empty)]) == [None]


def test_the_last_batch_of_a_pass_stays_so_that_readers_reach_its_end() -> None:
    batches = [batch_of(0, (b"a", b"1")), batch_of(1, (b"b", b"1"), (b"b", b"2")), batch_of(3, (b"a", b"2"))]
    keys = filtering(batches, clean_end=3)
    found = [keys.left_of(memoryview(batch)) for batch in batches[:2]]
    assert found[0] is None
    assert found[1] is not None
    late = [batch_of(0, (b"a", b"1")), batch_of(1, (b"a", b"2"))]
    empty = left(late, clean_end=1)[0]
    assert empty is not None
    assert read_batch_header(empty).record_count == 0


def test_aborted_records_go_and_hide_no_others() -> None:
    kept = batch_of(0, (b"a", b"1"))
    aborted = batch_of(1, (b"a", b"2"), producer_id=7, producer_epoch=3, base_sequence=0, transactional=True)
    found = left(
        [kept, aborted, marker(2, commit=False)], aborted=[AbortedTransaction(7, 1, 2, 3)], producers={}
    )
    assert found == [bytes(kept), None, bytes(marker(2, commit=False))]


def test_a_marker_without_records_waits_like_a_tombstone_and_stays_for_the_epoch() -> None:
    alone = marker(5)
    (marked,) = left([alone])
    assert marked is not None
    header = read_batch_header(marked)
    assert header.is_control
    assert header.attributes & DELETE_HORIZON
    assert list(iter_records(marked)) == list(iter_records(alone))
    later = {"now_ms": NOW_MS + DAY_MS}
    assert left([bytearray(marked)], **later) == [None]
    assert left([bytearray(marked)], producers={7: LastRecord(None, 9)}, **later) == [None]
    (empty,) = left([bytearray(marked)], producers={7: LastRecord(None, 3)}, **later)
    assert empty is not None
    assert read_batch_header(empty).record_count == 0
    assert read_batch_header(empty).is_control


def test_a_batch_that_cannot_be_read_says_so() -> None:
    broken = batch_of(0, (b"a", b"1"))
    broken[61] ^= 1
    renew_crc(broken)
    with pytest.raises(Malformed):
        filtering([]).left_of(memoryview(broken))


PAIRS = st.tuples(
    st.sampled_from([None, b"a", b"b", b"c", b"k" * 40]), st.sampled_from([None, b"", b"value"])
)


@given(
    st.lists(st.tuples(st.lists(PAIRS, min_size=1, max_size=5), st.sampled_from(list(Codec))), max_size=8),
    st.integers(0, 2),
)
def test_what_is_left_is_what_a_model_keeps(
    content: list[tuple[list[tuple[bytes | None, bytes | None]], Codec]], passes: int
) -> None:
    batches, offset = [], 0
    for pairs, codec in content:
        batches.append(batch_of(offset, *pairs, codec=codec))
        offset += len(pairs)
    everything = [record for batch in batches for record in iter_records(batch)]
    last = {record.key: record.offset for record in everything}
    expected = [
        record for record in everything if record.key is not None and last[record.key] == record.offset
    ]

    for number in range(passes + 1):
        kept = left(batches, now_ms=NOW_MS + number)
        batches = [bytearray(batch) for batch in kept if batch is not None]

    assert [record for batch in batches for record in iter_records(batch)] == expected
    for batch in batches:
        check_crc(batch)


def test_what_is_left_of_a_batch_of_repetitions_stays_only_as_its_producers_last() -> None:
    sent = batch_of(5, (b"a", b"1"), (b"b", b"2"), producer_id=7, producer_epoch=3, base_sequence=8)
    batch = left_behind_batch(read_batch_header(sent))
    assert left([batch]) == [None]
    (kept,) = left([batch], producers={7: LastRecord(6, 3)})
    assert kept is not None
    header = read_batch_header(kept)
    assert (header.is_left_behind, header.record_count, header.last_offset) == (True, 0, 6)
    assert (header.producer_epoch, header.base_sequence) == (3, 8)
    assert left([bytearray(kept)], producers={7: LastRecord(6, 3)}) == [kept]
