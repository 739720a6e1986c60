"""The outer structure of lz4 and zstd frames, walked block by block before a decompressor sees a byte.

Neither library can be trusted with a hostile frame: the zstd binding ignores its output limit when the frame
declares a size, the lz4 binding cannot say where a frame ends, and neither can tell a cut frame from a whole
one without decompressing it. Both formats put the size of every block in front of it, so a walk over the
block headers (0.6 µs for each 64 or 128 KiB of content) settles all of that first:

    lz4   := magic:u32le FLG:u8 BD:u8 [content size:u64le] [dictionary:u32le] HC:u8
             block* 0:u32le [checksum:u32le]
    block := size:u32le data[size & 0x7fffffff] [checksum:u32le]        top bit of size: stored as is

    zstd  := magic:u32le descriptor:u8 [window:u8] [dictionary:0-4] [content size:0-8]
             block+ [checksum:u32le]
    block := header:u24le data        bit 0 last; bits 1-2 raw, one repeated byte or compressed; 21 bits size

Source: LZ4 frame format 1.6.3, RFC 8878 section 3.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from protocol.errors import Malformed

LZ4_MAGIC = b"\x04\x22\x4d\x18"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

# RFC 8878 section 3.1.1.2.3: a block holds at most 128 KiB, whatever the window.
ZSTD_BLOCK_SIZE_BYTES_MAX = 128 << 10
# Skippable frames carry anything under 16 magic numbers, 0x184D2A50 to 0x184D2A5F (RFC 8878 section 3.1.2).
_ZSTD_SKIPPABLE_MAGIC = 0x184D2A50

_LZ4_BLOCK_SIZE_BYTES_MAX = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}
# The longest match that an lz4 block can encode takes one byte for each 255 it produces.
_LZ4_BLOCK_RATIO_MAX = 255

# The limit for blocks in one frame, and for members, frames or chunks in one batch: a writer makes one per 32
# KiB or more of content, an attacker one per 4 bytes.
PARTS_MAX = 20_000

_U32_LE = struct.Struct("<I")
_U64_LE = struct.Struct("<Q")

_REPEATED, _COMPRESSED = 1, 2


class FrameExtent(NamedTuple):
    """One whole compressed frame: where it ends and how much it can expand to.

    The output has at least `size_bytes_min` (stored and repeated blocks) and at most `size_bytes_max` bytes;
    `declared_bytes` is what the frame's header promises, None when it promises nothing.
    """

    end: int
    size_bytes_min: int
    size_bytes_max: int
    declared_bytes: int | None


def lz4_frame(data: memoryview) -> FrameExtent:
    """Walk the lz4 frame at the start of `data`; bytes after it are ignored, as in Kafka's reader.

    Raises: Malformed when the frame is cut, of another format version, or lies about its sizes.
    """
    flags, position, block_size_max, declared = _lz4_header(data)
    end, least, most = _lz4_blocks(data, position, block_size_max, 4 if flags & 0x10 else 0)
    if flags & 0x04:
        end += 4
    if end > len(data):
        raise Malformed(len(data), "lz4 frame", "cut inside its content checksum")
    if declared is not None and not least <= declared <= most:
        raise Malformed(
            6, "lz4 content size", f"{declared} bytes declared; its blocks hold {least} to {most}"
        )
    return FrameExtent(end, least, most, declared)


def _lz4_header(data: memoryview) -> tuple[int, int, int, int | None]:
    """Return (flags, position of the first block, greatest block size, declared content size)."""
    if bytes(data[:4]) != LZ4_MAGIC:
        raise Malformed(0, "lz4 frame", f"magic is {bytes(data[:4]).hex()!r}, expected {LZ4_MAGIC.hex()!r}")
    if len(data) < 7:
        raise Malformed(len(data), "lz4 frame", "cut inside its header")
    flags, block_class = data[4], data[5] >> 4 & 7
    if flags >> 6 != 1:
        raise Malformed(4, "lz4 frame", f"format version {flags >> 6}; only 1 is known")
    block_size_max = _LZ4_BLOCK_SIZE_BYTES_MAX.get(block_class)
    if block_size_max is None:
        raise Malformed(5, "lz4 frame", f"block size class {block_class}; 4 to 7 are known")
    declared, position = None, 7
    if flags & 0x08:
        declared = _read(_U64_LE, data, 6, "lz4 content size")
        position += 8
    if flags & 0x01:
        position += 4
    return flags, position, block_size_max, declared


def lz4_block_sizes(data: memoryview) -> Iterator[tuple[int, int, bool, int]]:
    """Yield (position, size, whether it is stored as is, greatest content size) of each block of a frame.

    `lz4_frame` must have accepted the frame.
    """
    flags, position, block_size_max, _ = _lz4_header(data)
    checksum_size = 4 if flags & 0x10 else 0
    while word := _read(_U32_LE, data, position, "lz4 block size"):
        size = word & 0x7FFFFFFF
        yield position + 4, size, bool(word >> 31), block_size_max
        position += 4 + size + checksum_size


def _lz4_blocks(
    data: memoryview, position: int, block_size_max: int, checksum_size: int
) -> tuple[int, int, int]:
    """Return (position after the end mark, least, greatest output size)."""
    least = most = count = 0
    while word := _read(_U32_LE, data, position, "lz4 block size"):
        size, stored = word & 0x7FFFFFFF, word >> 31
        count += 1
        if size > block_size_max or count > PARTS_MAX:
            raise Malformed(
                position, "lz4 block", f"number {count} of {size} bytes; {block_size_max} are allowed"
            )
        least += size if stored else 0
        most += size if stored else min(block_size_max, size * _LZ4_BLOCK_RATIO_MAX)
        position += 4 + size + checksum_size
        if position > len(data):
            raise Malformed(len(data), "lz4 block", f"cut; it goes on to byte {position}")
    return position + 4, least, most


def zstd_frame(data: memoryview) -> FrameExtent:
    """Walk the zstd frame (or skippable frame) at the start of `data`.

    Raises: Malformed when the frame is cut, unknown, or declares more than its blocks can hold.
    """
    magic = _read(_U32_LE, data, 0, "zstd magic")
    if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE_MAGIC:
        end = 8 + _read(_U32_LE, data, 4, "zstd skippable frame size")
        if end > len(data):
            raise Malformed(len(data), "zstd skippable frame", f"cut; it goes on to byte {end}")
        return FrameExtent(end, 0, 0, 0)
    if bytes(data[:4]) != ZSTD_MAGIC:
        raise Malformed(0, "zstd frame", f"magic is {magic:#010x}, expected 0xfd2fb528")
    position, declared, has_checksum = _zstd_header(data)
    end, least, most = _zstd_blocks(data, position)
    if has_checksum:
        end += 4
    if end > len(data):
        raise Malformed(len(data), "zstd frame", "cut inside its checksum")
    if declared is not None and not least <= declared <= most:
        raise Malformed(
            4, "zstd content size", f"{declared} bytes declared; its blocks hold {least} to {most}"
        )
    return FrameExtent(end, least, most, declared)


def _zstd_header(data: memoryview) -> tuple[int, int | None, bool]:
    """Return (position of the first block, declared content size, whether there is a checksum)."""
    if len(data) < 5:
        raise Malformed(len(data), "zstd frame", "cut inside its header")
    descriptor = data[4]
    if descriptor & 0x08:
        raise Malformed(4, "zstd frame", "a reserved bit of the frame header is set")
    single_segment = descriptor & 0x20
    position = 5 if single_segment else 6
    position += (0, 1, 2, 4)[descriptor & 3]
    size_class = descriptor >> 6
    field_size = (1 if single_segment else 0, 2, 4, 8)[size_class]
    field = bytes(data[position : position + field_size])
    if len(field) < field_size:
        raise Malformed(len(data), "zstd frame", "cut inside its header")
    declared = None
    if field_size:
        # RFC 8878: the two-byte form starts at 256, so that no size has two spellings there.
        declared = int.from_bytes(field, "little") + (256 if field_size == 2 else 0)
    return position + field_size, declared, bool(descriptor & 0x04)


def _zstd_blocks(data: memoryview, position: int) -> tuple[int, int, int]:
    """Return (position after the last block, least, greatest output size)."""
    least = most = count = last = 0
    while not last:
        header = int.from_bytes(data[position : position + 3], "little")
        if position + 3 > len(data):
            raise Malformed(len(data), "zstd block", "cut inside its header")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        count += 1
        if kind > _COMPRESSED or size > ZSTD_BLOCK_SIZE_BYTES_MAX or count > PARTS_MAX:
            raise Malformed(position, "zstd block", f"number {count} of kind {kind} and {size} bytes")
        least += 0 if kind == _COMPRESSED else size
        most += ZSTD_BLOCK_SIZE_BYTES_MAX if kind == _COMPRESSED else size
        position += 3 + (1 if kind == _REPEATED else size)
        if position > len(data):
            raise Malformed(len(data), "zstd block", f"cut; it goes on to byte {position}")
    return position, least, most


def _read(layout: struct.Struct, data: memoryview, position: int, field: str) -> int:
    try:
        value: int = layout.unpack_from(data, position)[0]
    except struct.error:
        raise Malformed(len(data), field, "cut: the input ends here") from None
    return value
