"""Compressed content in parts: the same bytes as at once, whatever its size, and errors in damaged data."""

from __future__ import annotations

import gzip
import random
import zlib

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import Codec, DecompressedTooLarge, compress
from protocol.decompressed_parts import PART_BYTES, WHOLE_BYTES_MAX, decompressed_parts
from protocol.errors import Malformed

COMPRESSED = [codec for codec in Codec if codec]


def joined(codec: int, data: bytes) -> bytes:
    return b"".join(decompressed_parts(codec, memoryview(data)))


@given(content=st.binary(max_size=5_000), codec=st.sampled_from(list(Codec)))
def test_the_parts_are_the_content(content: bytes, codec: Codec) -> None:
    assert joined(codec, compress(codec, content)) == content


@pytest.mark.parametrize("codec", list(Codec))
def test_large_content_comes_in_parts_of_bounded_size(codec: Codec) -> None:
    content = random.Random(1).randbytes(3 * PART_BYTES + 5) + bytes(20 * PART_BYTES)
    parts = list(decompressed_parts(codec, memoryview(compress(codec, content))))
    assert b"".join(parts) == content
    assert max(map(len, parts)) <= PART_BYTES
    assert len(parts) > 20


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_a_little_that_stands_for_a_lot_needs_little_memory(codec: Codec) -> None:
    data = memoryview(compress(codec, bytes(100 << 20)))
    assert len(data) < 110_000
    assert sum(map(len, decompressed_parts(codec, data))) == 100 << 20


def test_members_and_frames_in_a_row_are_one_content() -> None:
    assert joined(Codec.GZIP, gzip.compress(b"ab") + gzip.compress(b"cd") + b"trailing") == b"abcd"
    frames = zstandard.compress(b"ab") + b"\x50\x2a\x4d\x18\x02\0\0\0xx" + zstandard.compress(b"cd")
    assert joined(Codec.ZSTD, frames) == b"abcd"


def test_lz4_blocks_that_refer_to_earlier_ones_are_opened_as_a_whole() -> None:
    content = random.Random(2).randbytes(1_000) * 300
    data = lz4.frame.compress(content, block_linked=True, block_size=lz4.frame.BLOCKSIZE_MAX64KB)
    assert joined(Codec.LZ4, data) == content
    huge = lz4.frame.compress(bytes(WHOLE_BYTES_MAX + 1), block_linked=True)
    with pytest.raises(DecompressedTooLarge):
        joined(Codec.LZ4, huge)


@pytest.mark.parametrize("checksums", [False, True])
def test_lz4_blocks_of_every_kind_are_read(checksums: bool) -> None:
    content = random.Random(3).randbytes(100_000) + bytes(100_000)
    data = lz4.frame.compress(
        content, block_linked=False, block_checksum=checksums, content_checksum=checksums, store_size=False
    )
    assert joined(Codec.LZ4, data) == content


@pytest.mark.parametrize("codec", COMPRESSED)
def test_cut_and_changed_content_is_malformed_or_shorter(codec: Codec) -> None:
    """Never another error; the batch's CRC is what protects the bytes."""
    content = random.Random(4).randbytes(200) * 50
    data = compress(codec, content)
    for size in range(len(data)):
        try:
            found = joined(codec, data[:size])
        except Malformed:
            continue
        assert content.startswith(found)
    for position in range(min(len(data), 300)):
        changed = bytearray(data)
        changed[position] ^= 0x55
        try:
            joined(codec, bytes(changed))
        except Malformed:
            continue


def test_an_unknown_codec_is_malformed() -> None:
    with pytest.raises(Malformed, match="number 5 is unknown"):
        decompressed_parts(5, memoryview(b"x"))


def test_an_endless_row_of_empty_members_ends() -> None:
    member = zlib.compress(b"", wbits=31)
    with pytest.raises(Malformed, match="more than 20000 members"):
        joined(Codec.GZIP, member * 20_001)
