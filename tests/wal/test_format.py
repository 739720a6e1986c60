"""The log's structures match their declarations, and no flipped or foreign byte passes for one."""

from __future__ import annotations

from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log
from wal import format as fmt
from wal.memory_disk import MemoryDisk

GOLDEN_NAMES = [
    "00000000000000000000.idx",
    "00000000000000000000.wal",
    "00000000000000000025.part",
    "00000000000000000025.wal",
    "checkpoint.0",
    "witness",
]
GOLDEN_CRCS = ["a4ed964b", "5e88d03e", "463e7028", "c4ffef49", "48674bc7", "a1f3fef3"]

U8, U32, U64 = st.integers(0, 2**8 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
I16, I32 = st.integers(-(2**15), 2**15 - 1), st.integers(-(2**31), 2**31 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)

SEGMENT_HEADERS = st.builds(
    fmt.SegmentHeader, U32, U64, U64, U64, U32, U64, st.sampled_from(fmt.READABLE_FORMATS)
)
FRAME_HEADERS = st.builds(fmt.FrameHeader, U8, U64, U64, U64, U32, U32, U32, U32, U64, U32)
ENTRIES = st.builds(fmt.Entry, U64, U8, U8, I32, I64, U32, U32, I64, U32, U32)
FOOTERS = st.builds(fmt.Footer, U64, U64, U64, U64, I64, U64, U32)
PREFIXES = st.builds(
    fmt.BatchPrefix, I64, I32, I32, st.integers(-128, 127), U32, I16, I32, I64, I64, I64, I16, I32, I32
)


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    return fmt.reference_codecs()


def declared(codec: Any, data: bytes) -> dict[str, Any]:
    return {name: value for name, value in codec.parse(data).items() if not name.startswith("_")}


@given(header=SEGMENT_HEADERS)
def test_the_segment_header_is_as_declared(reference: dict[str, Any], header: fmt.SegmentHeader) -> None:
    data = fmt.encode_segment_header(header)

    parsed = declared(reference["segment_header"], data)
    assert parsed.pop("crc") == crc32c(data[:60])
    assert parsed == {"magic": b"KAWALSEG", **header._asdict()}
    assert reference["segment_header"].build({**header._asdict(), "crc": crc32c(data[:60])}) == data
    assert fmt.decode_segment_header(data) == header


@given(header=FRAME_HEADERS, salt=U64)
def test_the_frame_header_is_as_declared(
    reference: dict[str, Any], header: fmt.FrameHeader, salt: int
) -> None:
    seed = fmt.seed_of(salt)
    data, crc = fmt.encode_frame_header(header, seed)

    assert crc == crc32c(data[:60], crc32c(salt.to_bytes(8, "little")))
    assert reference["frame_header"].build({**header._asdict(), "crc": crc}) == data
    parsed = declared(reference["frame_header"], data)
    assert parsed == {"magic": b"\xf7KWF", **header._asdict(), "crc": crc}
    assert fmt.decode_frame_header(b"x" + data, 1, seed) == (header, crc)


@given(entry=ENTRIES)
def test_the_entry_is_as_declared(reference: dict[str, Any], entry: fmt.Entry) -> None:
    data = fmt.ENTRY.pack(*entry)

    assert reference["entry"].build(entry._asdict()) == data
    assert declared(reference["entry"], data) == entry._asdict()


@given(footer=FOOTERS)
def test_the_footer_is_as_declared(reference: dict[str, Any], footer: fmt.Footer) -> None:
    assert reference["footer"].build(footer._asdict()) == fmt.FOOTER.pack(*footer)


@given(prefix=PREFIXES)
def test_the_batch_prefix_is_as_declared(reference: dict[str, Any], prefix: fmt.BatchPrefix) -> None:
    data = fmt.BATCH_PREFIX.pack(*prefix)

    assert reference["batch_prefix"].build(prefix._asdict()) == data
    assert declared(reference["batch_prefix"], data) == prefix._asdict()
    assert fmt.BATCH_HEAD.unpack_from(data) == prefix[:5]
    assert fmt.LEADER_EPOCH.unpack_from(data, fmt.LEADER_EPOCH_POSITION) == (prefix.leader_epoch,)
    assert fmt.PRODUCER_ID.unpack_from(data, fmt.PRODUCER_ID_POSITION) == (prefix.producer_id,)


def test_a_batch_crc_covers_all_from_the_attributes_on() -> None:
    data = batch(2, body=b"hello")

    assert fmt.BatchPrefix._make(fmt.BATCH_PREFIX.unpack_from(data)).crc == crc32c(
        data[fmt.BATCH_CRC_START :]
    )


def test_no_flipped_bit_of_a_header_goes_unseen() -> None:
    seed = fmt.seed_of(7)
    segment = fmt.encode_segment_header(fmt.SegmentHeader(1, 2, 3, 4, 5, 6))
    frame, _ = fmt.encode_frame_header(fmt.FrameHeader(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), seed)

    for bit in range(64 * 8):
        for data, decode in (
            (segment, fmt.decode_segment_header),
            (frame, lambda data: fmt.decode_frame_header(data, 0, seed)),
        ):
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            assert decode(bytes(damaged)) is None


def test_a_frame_of_another_segment_is_no_frame() -> None:
    data, _ = fmt.encode_frame_header(fmt.FrameHeader(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), fmt.seed_of(1))

    assert fmt.decode_frame_header(data, 0, fmt.seed_of(2)) is None


@pytest.mark.parametrize("size", range(64))
def test_a_cut_header_is_no_header(size: int) -> None:
    segment = fmt.encode_segment_header(fmt.SegmentHeader(1, 2, 3, 4, 5, 6))
    frame, _ = fmt.encode_frame_header(fmt.FrameHeader(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 0)

    assert fmt.decode_segment_header(segment[:size]) is None
    assert fmt.decode_frame_header(frame[:size], 0, 0) is None


def test_a_segment_of_another_format_is_refused() -> None:
    body = fmt.SEGMENT_BODY.pack(fmt.SEGMENT_MAGIC, fmt.FORMAT + 1, 1, 2, 3, 4, 5, 6)

    assert fmt.decode_segment_header(body + fmt.CRC.pack(crc32c(body))) is None


def test_the_bytes_of_a_log_are_what_they_were() -> None:
    """A change of this digest is a change of the format: raise its number, or break every data directory."""
    disk = MemoryDisk()
    log = open_log(disk, now_ms=1_000)
    log.set_wall_clock(now_ms=1_000, wall_ms=1_700_000_000_000)
    for number in range(20):
        log.append(number % 3, batch(number % 4 + 1, body=bytes([number]) * 900, timestamp=number))
        if number % 5 == 4:
            log.append_meta(9, b"note")
            commit(log, 1_000)
    commit(log, 5_000)
    maintain(log, 5_000)
    log.close(5_000)

    contents = [disk.contents(f"{DIRECTORY}/{name}").rstrip(b"\0") for name in disk.list(DIRECTORY)]

    assert disk.list(DIRECTORY) == GOLDEN_NAMES
    assert [f"{crc32c(data):08x}" for data in contents] == GOLDEN_CRCS


HEADER = fmt.SegmentHeader(1, 2, 3, 4, 5, 6)


def test_either_copy_of_a_segment_header_serves() -> None:
    start = fmt.encode_segment_start(HEADER)
    first_bad, second_bad = bytearray(start), bytearray(start)
    first_bad[20] ^= 1
    second_bad[fmt.HEADER_COPY_POSITION + 20] ^= 1

    assert len(start) == fmt.FIRST_FRAME_POSITION
    assert fmt.decode_segment_start(start) == (HEADER, True)
    assert fmt.decode_segment_start(bytes(first_bad)) == (HEADER, False)
    assert fmt.decode_segment_start(bytes(second_bad)) == (HEADER, False)
    assert fmt.decode_segment_start(b"") == (None, True)
    assert fmt.decode_segment_start(bytes(fmt.FIRST_FRAME_POSITION)) == (None, True)


@pytest.mark.parametrize("count", [1, 2, 2**31])
def test_an_empty_batch_takes_offsets_and_holds_no_records(count: int) -> None:
    data = fmt.empty_batch(count)

    prefix = fmt.BatchPrefix._make(fmt.BATCH_PREFIX.unpack(data))
    assert (prefix.batch_length, prefix.magic, prefix.last_offset_delta) == (len(data) - 12, 2, count - 1)
    assert (prefix.record_count, prefix.producer_id, prefix.attributes) == (0, -1, 0)
    assert prefix.crc == crc32c(bytes(data[fmt.BATCH_CRC_START :]))
