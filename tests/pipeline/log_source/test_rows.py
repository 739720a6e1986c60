"""Bytes of a segment become rows: all records that count, as a consumer of committed records gets them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import SourceError
from pipeline.log_source.plan import Aborted, Piece, Split
from pipeline.log_source.rows import LOCAL, REMOTE, ROWS, ROWS_BYTES, arrow_batches
from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.record_writer import encode_batch, transaction_marker_batch
from protocol.records import read_batch_header, renew_crc
from tests.wal.logs import put
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.remote.copy_disk import Part

PATH = "segment.wal"
SENT_MS = 1_767_225_600_000
END = 10**9

RECORDS = st.lists(
    st.builds(
        Record,
        st.just(0),
        st.integers(0, 2**41),
        st.none() | st.binary(max_size=9),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=5,
)


def ms_of(moment: datetime) -> int:
    """Return a time in milliseconds since 1970, exactly."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def numbered(records: list[Record], base: int) -> list[Record]:
    return [record._replace(offset=base + number) for number, record in enumerate(records)]


def piece_of(batch: bytearray, position: int, since: int = 0, until: int = END) -> Piece:
    head = read_batch_header(batch)
    return Piece("t", 3, position, len(batch), head.base_offset, head.last_offset + 1, since, until)


def rows_of(
    *batches: bytearray,
    since: int = 0,
    until: int = END,
    aborted: Aborted | None = None,
    gap: int = 0,
    spoil: int | None = None,
    with_headers: bool = True,
) -> list[dict[str, Any]]:
    """Return the rows of batches of partition 3 of topic `t` that lie in one file, each a piece."""
    data, pieces = bytearray(), list[Piece]()
    for batch in batches:
        pieces.append(piece_of(batch, len(data), since, until))
        data += batch + bytes(gap)
    if spoil is not None:
        data[spoil] ^= 1
    disk = MemoryDisk()
    put(disk, PATH, bytes(data))
    split = Split(PATH, pieces=pieces, aborted={("t", 3): aborted or {}})
    return [
        row for found in arrow_batches(disk, split, with_headers=with_headers) for row in found.to_pylist()
    ]


def batch(*values: bytes, base: int = 0, **settings: Any) -> bytearray:
    return encode_batch(
        [Record(base + at, SENT_MS, None, value) for at, value in enumerate(values)], **settings
    )


@given(
    st.lists(RECORDS, min_size=1, max_size=4),
    st.sampled_from(Codec),
    st.sampled_from([0, 7, LOCAL.gap_bytes + 1]),
)
def test_every_record_comes_back_with_all_that_it_has(
    written: list[list[Record]], codec: Codec, gap: int
) -> None:
    batches, records = [], list[Record]()
    for part in written:
        listed = numbered(part, len(records))
        batches.append(encode_batch(listed, codec=codec))
        records += listed
    rows = rows_of(*batches, gap=gap)
    assert [(row["offset"], ms_of(row["timestamp"]), row["key"], row["value"]) for row in rows] == [
        record[:4] for record in records
    ]
    found = [[(header["key"], header["value"]) for header in row["headers"] or ()] for row in rows]
    assert found == [list(record.headers) for record in records]
    assert {(row["topic"], row["partition"], row["timestampType"]) for row in rows} == {("t", 3, 0)}


def test_only_offsets_that_count_come() -> None:
    rows = rows_of(batch(b"a", b"b", b"c"), batch(b"d", b"e", base=3), batch(b"f", base=5), since=1, until=4)
    assert [row["value"] for row in rows] == [b"b", b"c", b"d"]


def test_markers_and_aborted_records_are_left_out_and_others_of_the_producer_are_not() -> None:
    owned = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    marker = transaction_marker_batch(
        commit=False, offset=2, timestamp_ms=SENT_MS, producer_id=7, producer_epoch=0, coordinator_epoch=0
    )
    rows = rows_of(
        batch(b"before", **owned),
        batch(b"aborted", base=1, **owned),
        marker,
        batch(b"plain", base=3),
        batch(b"after", base=4, **owned),
        aborted={7: [(1, 2)], 8: [(0, 9)]},
    )
    assert [row["value"] for row in rows] == [b"before", b"plain", b"after"]


def test_each_of_a_producers_transactions_ends_at_its_own_marker() -> None:
    owned = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    batches = [batch(b"%d" % base, base=base, **owned) for base in range(8)]
    rows = rows_of(*batches, aborted={7: [(1, 2), (4, 4), (6, 6)]})
    assert [row["offset"] for row in rows] == [0, 3, 5, 7]


def test_the_time_of_the_append_counts_where_the_topic_says_so() -> None:
    (row,) = rows_of(batch(b"a", append_time_ms=SENT_MS + 5), with_headers=False)
    assert (row["timestampType"], ms_of(row["timestamp"])) == (1, SENT_MS + 5)
    assert "headers" not in row


def test_records_without_headers_have_none() -> None:
    assert [row["headers"] for row in rows_of(batch(b"a"))] == [None]


@pytest.mark.parametrize("position", [3, 9, 40, 70])
def test_a_changed_byte_is_an_error_that_names_the_file_and_the_place(position: int) -> None:
    first = batch(b"a" * 30)
    with pytest.raises(SourceError, match=f"{PATH}: bytes from {len(first)} on are damaged.*t-3.*wal verify"):
        rows_of(first, batch(b"b" * 30, base=1), spoil=len(first) + position)


def test_a_file_that_is_gone_is_an_error_that_says_so() -> None:
    split = Split("gone.wal", pieces=[Piece("t", 0, 0, 10, 0, 1, 0, 1)], aborted={("t", 0): {}})
    with pytest.raises(SourceError, match=r"gone\.wal cannot be read"):
        list(arrow_batches(MemoryDisk(), split, with_headers=False))


def test_a_batch_that_cannot_be_opened_is_named_by_its_offset() -> None:
    broken = encode_batch([Record(0, SENT_MS, None, b"a")], base_offset=0)
    broken[21:23] = (4).to_bytes(2, "big")  # said to be zstd
    renew_crc(broken)
    with pytest.raises(SourceError, match="t-3: the batch at offset 0 cannot be opened"):
        rows_of(broken)


def test_objects_of_a_store_are_read_as_a_file_is_with_few_requests() -> None:
    batches = [batch(*[b"x" * 100] * 50, base=50 * number) for number in range(40)]
    data, pieces, store = bytearray(), list[Piece](), MemoryObjects()
    for written in batches:
        pieces.append(piece_of(written, len(data)))
        data += written + bytes(1_000)
    half = len(data) // 2
    store.create("a", bytes(data[:half]))
    store.create("b", bytes(data[half:]))
    parts = (Part("a", 0, half), Part("b", half, len(data) - half))
    split = Split("log", parts, pieces, {("t", 3): {}})
    found = list(arrow_batches(MemoryDisk(), split, store, with_headers=False))
    assert [row["offset"] for rows in found for row in rows.to_pylist()] == list(range(2_000))
    assert len(data) > LOCAL.gap_bytes
    assert [call.kind for call in store.calls] == ["create", "create", "read_range", "read_range"]
    assert REMOTE.span_bytes > LOCAL.span_bytes


def test_an_object_that_is_gone_is_an_error_that_says_so() -> None:
    split = Split("log", (Part("a", 0, 10),), [Piece("t", 0, 0, 10, 0, 1, 0, 1)], {("t", 0): {}})
    with pytest.raises(SourceError, match=r"log cannot be read.*memory/a: the object is missing"):
        list(arrow_batches(MemoryDisk(), split, MemoryObjects(), with_headers=False))


def test_rows_come_in_batches_of_a_size_that_spark_likes() -> None:
    batches = [batch(*[b"x"] * 500, base=500 * number) for number in range(100)]
    disk, data, pieces = MemoryDisk(), bytearray(), list[Piece]()
    for written in batches:
        pieces.append(piece_of(written, len(data)))
        data += written
    put(disk, PATH, bytes(data))
    sizes = [
        found.num_rows
        for found in arrow_batches(
            disk, Split(PATH, pieces=pieces, aborted={("t", 3): {}}), with_headers=False
        )
    ]
    assert sizes == [ROWS, ROWS, 10_000]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_large_records_come_in_batches_of_few_rows_so_that_a_task_needs_little_memory(codec: Codec) -> None:
    value = bytes(range(256)) * (ROWS_BYTES // 4 // 256)
    batches = [batch(value, base=number, codec=codec) for number in range(10)]
    disk, data = MemoryDisk(), b"".join(batches)
    put(disk, PATH, data)
    whole = Piece("t", 3, 0, len(data), 0, 10, 0, END)
    split = Split(PATH, pieces=[whole], aborted={("t", 3): {}})
    assert [found.num_rows for found in arrow_batches(disk, split, with_headers=False)] == [4, 4, 2]
