"""The open frame: batches grouped by stream, entries that restore the order of arrival, extents cut."""

from __future__ import annotations

from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from tests.wal.logs import add_batch, batch
from wal.format import ENTRY, ENTRY_BYTES, HEADER_BYTES, Entry, EntryKind, decode_frame_header, table_seed
from wal.frame import BuiltFrame, OpenFrame
from wal.index import EXTENT_BYTES
from wal.stream import Stream

SEED = 0xC0FFEE


def built(frame: OpenFrame, sequence: int = 4) -> tuple[BuiltFrame, list[Entry], bytes]:
    """Return the closed frame, its entries, and its payload."""
    result = frame.build(sequence=sequence, durable_sequence=3, now_ms=77, seed=SEED)
    data = b"".join(result.buffers)
    end = HEADER_BYTES + frame.entry_count * ENTRY_BYTES
    return result, [Entry._make(row) for row in ENTRY.iter_unpack(data[HEADER_BYTES:end])], data[end:]


def test_an_empty_frame_is_a_header_and_nothing_else() -> None:
    result, entries, payload = built(OpenFrame(9))

    assert (entries, payload) == ([], b"")
    assert (result.header.base_version, result.header.record_count) == (9, 0)
    assert result.header.size_bytes == OpenFrame(9).size_bytes == HEADER_BYTES


def test_payload_is_grouped_by_stream_and_meta_entries_come_last() -> None:
    frame, one, two = OpenFrame(100), Stream(1), Stream(2)
    first, second, third = batch(2, body=b"first"), batch(3, body=b"second"), batch(1, body=b"third")
    add_batch(frame, one, first)
    assert frame.add_meta(9, b"\0note") == 102
    add_batch(frame, two, second)
    add_batch(frame, one, third)

    _, entries, payload = built(frame)

    assert payload == bytes(first + third + second) + b"\0note"
    assert [(e.stream_id, e.kind, e.base_offset, e.record_count) for e in entries] == [
        (1, EntryKind.DATA, 0, 2),
        (1, EntryKind.DATA, 2, 1),
        (2, EntryKind.DATA, 0, 3),
        (9, EntryKind.META, 0, 1),
    ]


def test_version_deltas_give_the_order_of_arrival_back() -> None:
    frame, one, two = OpenFrame(100), Stream(1), Stream(2)
    for stream, records in ((two, 4), (one, 2), (two, 1)):
        add_batch(frame, stream, batch(records))
    frame.add_meta(3, b"meta")

    _, entries, _ = built(frame)

    arrived = sorted(entries, key=lambda entry: entry.version_delta)
    assert [(e.stream_id, e.version_delta) for e in arrived] == [(2, 0), (1, 4), (2, 6), (3, 7)]
    assert frame.next_version == 108


def test_the_header_holds_what_the_frame_takes_and_how_far_the_log_was_synced() -> None:
    frame, stream = OpenFrame(50), Stream(1)
    add_batch(frame, stream, batch(3))
    frame.add_meta(1, b"m")

    result, _, payload = built(frame, sequence=8)

    header, crc = decode_frame_header(result.head, 0, SEED) or (None, 0)
    assert header == result.header
    assert crc == result.crc
    assert (header.sequence, header.durable_sequence, header.ingest_ms) == (8, 3, 77)
    assert (header.base_version, header.entry_count, header.record_count) == (50, 2, 4)
    assert header.payload_bytes == len(payload)
    table = b"".join(result.buffers)[HEADER_BYTES : HEADER_BYTES + header.table_bytes]
    assert header.table_crc == crc32c(table, table_seed(SEED, 8))


def test_the_crc_of_a_meta_entry_covers_its_payload() -> None:
    frame = OpenFrame(0)
    frame.add_meta(5, b"payload")

    (entry,) = built(frame)[1]

    assert (entry.crc, entry.size_bytes, entry.version_delta) == (crc32c(b"payload"), 7, 0)


def test_batches_are_not_copied() -> None:
    frame, data = OpenFrame(0), batch(body=b"x" * 5_000)
    add_batch(frame, Stream(1), data)

    assert built(frame)[0].buffers[1] is data


def test_a_run_is_cut_into_extents_of_bounded_size_or_one_batch() -> None:
    frame, stream = OpenFrame(0), Stream(1)
    half = EXTENT_BYTES // 2 - 61
    for number, size in enumerate((half, half, 1, EXTENT_BYTES + 1, 1, 1)):
        add_batch(frame, stream, batch(2, body=bytes(size), timestamp=number))

    run = frame.runs[1]

    assert [(e.base, e.next_offset, len(e.buffers)) for e in run.extents] == [
        (0, 4, 2),
        (4, 6, 1),
        (6, 8, 1),
        (8, 12, 2),
    ]
    assert [e.start for e in run.extents] == [0, EXTENT_BYTES, EXTENT_BYTES + 62, 2 * EXTENT_BYTES + 124]
    assert [e.max_timestamp for e in run.extents] == [1, 2, 3, 5]
    assert (run.next_offset, run.size_bytes) == (12, frame.payload_bytes)


def test_an_extent_has_the_largest_timestamp_of_its_batches_wherever_it_is() -> None:
    frame, stream = OpenFrame(0), Stream(1)
    for timestamp in (5, 90, -7):
        add_batch(frame, stream, batch(timestamp=timestamp))

    assert [e.max_timestamp for e in frame.runs[1].extents] == [90]


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(0, 300), st.booleans()), max_size=12)
)
def test_a_frame_takes_as_many_bytes_as_it_says(parts: list[tuple[int, int, int, bool]]) -> None:
    frame, streams = OpenFrame(7), {number: Stream(number) for number in (1, 2, 3)}
    versions = 0
    for stream_id, records, size, is_meta in parts:
        if is_meta:
            frame.add_meta(stream_id, bytes(size))
            versions += 1
        else:
            add_batch(frame, streams[stream_id], batch(records, body=bytes(size)))
            versions += records

    result, entries, payload = built(frame)

    assert len(b"".join(result.buffers)) == frame.size_bytes == result.header.size_bytes
    assert len(entries) == len(parts)
    assert sum(entry.size_bytes for entry in entries) == len(payload)
    assert frame.next_version == 7 + versions
