"""The walk over lz4 and zstd frames: their ends, how much they can hold, and the lies that are found.

Frames are made here byte by byte, so that nothing depends on a library; `test_compression.py` reads them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from protocol.compressed_frames import (
    LZ4_MAGIC,
    PARTS_MAX,
    ZSTD_BLOCK_SIZE_BYTES_MAX,
    ZSTD_MAGIC,
    FrameExtent,
    lz4_frame,
    zstd_frame,
)
from protocol.errors import Malformed

KIB = 1 << 10
RAW, REPEATED, COMPRESSED, RESERVED = range(4)


def lz4_bytes(
    *blocks: bytes, flags: int = 0x60, block_class: int = 4, extra: bytes = b"", checksum: bytes = b""
) -> bytes:
    """Return a frame of format version 1; its header checksum is never looked at, so any byte will do."""
    return b"".join((LZ4_MAGIC, bytes((flags, block_class << 4)), extra, b"?", *blocks, bytes(4), checksum))


def lz4_block(data: bytes, *, stored: bool, checksum: bytes = b"") -> bytes:
    return struct.pack("<I", len(data) | stored << 31) + data + checksum


def zstd_bytes(*blocks: bytes, descriptor: int = 0, fields: bytes = b"\x58", checksum: bytes = b"") -> bytes:
    return b"".join((ZSTD_MAGIC, bytes((descriptor,)), fields, *blocks, checksum))


def zstd_block(size: int, kind: int = RAW, *, last: bool = False, data: bytes | None = None) -> bytes:
    content = data if data is not None else b"x" * (1 if kind == REPEATED else size)
    return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content


def problem_of(walk: Callable[[memoryview], FrameExtent], data: bytes) -> str:
    with pytest.raises(Malformed) as caught:
        walk(memoryview(data))
    assert 0 <= caught.value.position <= len(data)
    return str(caught.value)


def test_an_lz4_frame_of_another_kind_is_named() -> None:
    assert "magic is '02214c18', expected '04224d18'" in problem_of(lz4_frame, b"\x02\x21\x4c\x18" + bytes(9))
    assert "format version 2; only 1 is known" in problem_of(lz4_frame, lz4_bytes(flags=0xA0))
    assert "block size class 3; 4 to 7 are known" in problem_of(lz4_frame, lz4_bytes(block_class=3))


@pytest.mark.parametrize(("block_class", "block_bytes_max"), [(4, 64), (5, 256), (6, 1024), (7, 4096)])
def test_an_lz4_block_larger_than_its_class_is_malformed(block_class: int, block_bytes_max: int) -> None:
    largest = lz4_block(bytes(block_bytes_max * KIB), stored=True)
    too_large = lz4_block(bytes(block_bytes_max * KIB + 1), stored=True)

    extent = lz4_frame(memoryview(lz4_bytes(largest, block_class=block_class)))

    assert extent.size_bytes_min == extent.size_bytes_max == block_bytes_max * KIB
    assert "number 1 of" in problem_of(lz4_frame, lz4_bytes(too_large, block_class=block_class))


@pytest.mark.parametrize("declared", [0, 9, 2561, 2**64 - 1])
def test_an_lz4_content_size_outside_what_its_blocks_hold_is_malformed(declared: int) -> None:
    blocks = lz4_block(b"stored 10\n", stored=True), lz4_block(b"compressed", stored=False)
    data = lz4_bytes(*blocks, flags=0x68, extra=struct.pack("<Q", declared))

    assert f"{declared} bytes declared; its blocks hold 10 to 2560" in problem_of(lz4_frame, data)


@pytest.mark.parametrize("declared", [10, 2560])
def test_an_lz4_content_size_that_its_blocks_can_hold_is_believed(declared: int) -> None:
    blocks = lz4_block(b"stored 10\n", stored=True), lz4_block(b"compressed", stored=False)
    data = lz4_bytes(*blocks, flags=0x68, extra=struct.pack("<Q", declared))

    assert lz4_frame(memoryview(data)) == FrameExtent(len(data), 10, 2560, declared)


def test_every_optional_part_of_an_lz4_frame_is_walked_over() -> None:
    block = lz4_block(b"0123456789", stored=True, checksum=b"sum.")
    extra = struct.pack("<QI", 20, 7)
    data = lz4_bytes(block, block, flags=0x7D, extra=extra, checksum=b"sum.")

    assert lz4_frame(memoryview(data + b"what follows is ignored")) == FrameExtent(len(data), 20, 20, 20)
    for size in range(len(data)):
        problem_of(lz4_frame, data[:size])


def test_an_lz4_frame_without_blocks_holds_nothing() -> None:
    assert lz4_frame(memoryview(lz4_bytes())) == FrameExtent(11, 0, 0, None)


def test_lz4_blocks_are_counted() -> None:
    block = lz4_block(b"", stored=True)

    assert lz4_frame(memoryview(lz4_bytes(*[block] * PARTS_MAX))).size_bytes_max == 0
    assert f"number {PARTS_MAX + 1}" in problem_of(lz4_frame, lz4_bytes(*[block] * (PARTS_MAX + 1)))


def test_a_zstd_frame_of_another_kind_is_named() -> None:
    assert "magic is 0x184d2204, expected 0xfd2fb528" in problem_of(zstd_frame, LZ4_MAGIC + bytes(9))
    reserved = zstd_bytes(zstd_block(1, last=True), descriptor=0x08)
    assert "a reserved bit of the frame header is set" in problem_of(zstd_frame, reserved)


def test_a_zstd_block_of_reserved_kind_or_too_large_is_malformed() -> None:
    reserved = zstd_bytes(zstd_block(1, RESERVED, last=True))
    too_large = zstd_bytes(zstd_block(ZSTD_BLOCK_SIZE_BYTES_MAX + 1, REPEATED, last=True))

    assert "number 1 of kind 3 and 1 bytes" in problem_of(zstd_frame, reserved)
    assert "number 1 of kind 1 and 131073 bytes" in problem_of(zstd_frame, too_large)


def test_zstd_blocks_are_counted() -> None:
    blocks = [zstd_block(0)] * (PARTS_MAX - 1)
    last = zstd_block(0, last=True)

    assert zstd_frame(memoryview(zstd_bytes(*blocks, last))).size_bytes_max == 0
    assert f"number {PARTS_MAX + 1}" in problem_of(zstd_frame, zstd_bytes(*blocks, zstd_block(0), last))


def test_what_a_zstd_frame_can_hold_follows_from_its_blocks() -> None:
    blocks = (
        zstd_block(10),
        zstd_block(1000, REPEATED),
        zstd_block(7, COMPRESSED),
        zstd_block(5, last=True),
    )
    data = zstd_bytes(*blocks)

    extent = zstd_frame(memoryview(data + b"the next frame"))

    assert extent == FrameExtent(len(data), 1015, 1015 + ZSTD_BLOCK_SIZE_BYTES_MAX, None)


@pytest.mark.parametrize("dictionary", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("descriptor", "window", "size_field", "declared"),
    [
        (0x00, b"\x58", b"", None),
        (0x20, b"", b"\x0c", 12),
        (0x40, b"\x58", b"\x00\x00", 256),
        (0x60, b"", b"\x0c\x01", 524),
        (0x80, b"\x58", b"\x00\x02\x00\x00", 512),
        (0xC0, b"\x58", b"\x00\x02\x00\x00\x00\x00\x00\x00", 512),
    ],
)
@pytest.mark.parametrize("checksum", [b"", b"sum."])
def test_every_shape_of_zstd_header_is_walked_over(
    dictionary: int, descriptor: int, window: bytes, size_field: bytes, declared: int | None, checksum: bytes
) -> None:
    fields = window + bytes((0, 1, 2, 4)[dictionary]) + size_field
    descriptor |= dictionary | (0x04 if checksum else 0)
    size = declared if declared is not None else 100
    block = zstd_block(size, last=True)
    data = zstd_bytes(block, descriptor=descriptor, fields=fields, checksum=checksum)

    assert zstd_frame(memoryview(data)) == FrameExtent(len(data), size, size, declared)
    for cut in range(len(data)):
        problem_of(zstd_frame, data[:cut])


@pytest.mark.parametrize("declared", [99, 101])
def test_a_zstd_content_size_outside_what_its_blocks_hold_is_malformed(declared: int) -> None:
    data = zstd_bytes(zstd_block(100, last=True), descriptor=0x20, fields=bytes((declared,)))

    assert f"{declared} bytes declared; its blocks hold 100 to 100" in problem_of(zstd_frame, data)


@pytest.mark.parametrize("number", range(16))
def test_all_sixteen_skippable_frames_are_passed_over(number: int) -> None:
    data = struct.pack("<II", 0x184D2A50 + number, 3) + b"abc"

    assert zstd_frame(memoryview(data + b"next")) == FrameExtent(len(data), 0, 0, 0)
    for size in range(len(data)):
        problem_of(zstd_frame, data[:size])


@given(data=st.binary(max_size=2_000), level=st.integers(0, 9), size=st.booleans(), checksum=st.booleans())
def test_the_frames_of_the_reference_libraries_are_understood(
    data: bytes, level: int, *, size: bool, checksum: bool
) -> None:
    lz4_data = lz4.frame.compress(
        data, compression_level=level, store_size=size, content_checksum=checksum, block_checksum=checksum
    )
    compressor = zstandard.ZstdCompressor(level=level, write_content_size=size, write_checksum=checksum)
    zstd_data = compressor.compress(data)

    for walk, compressed in ((lz4_frame, lz4_data), (zstd_frame, zstd_data)):
        extent = walk(memoryview(compressed + b"behind"))
        assert extent.end == len(compressed)
        assert extent.size_bytes_min <= len(data) <= extent.size_bytes_max
        assert extent.declared_bytes in ((len(data), None) if size else (None,))


@given(data=st.binary(max_size=64), magic=st.sampled_from([b"", LZ4_MAGIC, ZSTD_MAGIC, b"\x50\x2a\x4d\x18"]))
def test_noise_is_malformed_or_a_frame_within_its_bytes(data: bytes, magic: bytes) -> None:
    for walk in (lz4_frame, zstd_frame):
        try:
            extent = walk(memoryview(magic + data))
        except Malformed:
            continue
        assert 0 < extent.end <= len(magic + data)
        assert 0 <= extent.size_bytes_min <= extent.size_bytes_max
