"""The five codecs of Kafka record batches, with bounded output.

Produce and Fetch never decompress; this is for tools, lookups by timestamp, views and tests. Whatever the
input claims, `decompress` allocates at most the smaller of the caller's limit and 1,000 times the input (but
always allows 1 MiB): sizes declared inside the data are checked before anything is allocated, where no size
is declared, the decompressor stops at the limit. Otherwise 8 KiB of zstd could become 256 MiB.

Everything that Java's Kafka client reads is read: several gzip members or zstd frames in a row, zstd
skippable frames, snappy raw and in the framing of xerial's snappy-java, bytes after an lz4 frame or after the
last gzip member (ignored). The output is as Java writes it, so that every client can read it: xerial snappy
in blocks of 32 KiB, lz4 frames of independent 64 KiB blocks.

The codec libraries are imported when first used: most brokers never need one.

Source: Kafka 4.3 org.apache.kafka.common.compress, snappy-java SnappyInputStream,
java.util.zip.GZIPInputStream.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING

from protocol.compressed_frames import PARTS_MAX, FrameExtent, lz4_frame, zstd_frame
from protocol.errors import Malformed

if TYPE_CHECKING:
    import zstandard

Readable = bytes | bytearray | memoryview
"""The types in which bytes may arrive."""

# One batch rarely exceeds 1 MiB (Kafka's max.message.bytes); 16 MiB leaves room for topics that raised it.
OUTPUT_BYTES_MAX = 16 << 20
# Real batches compress 2 to 50 times; deflate cannot exceed 1,032. Below the floor the ratio does not matter.
RATIO_MAX = 1_000
RATIO_FLOOR_BYTES = 1 << 20

GZIP_WBITS = 31
GZIP_MAGIC = b"\x1f\x8b"
# Input is handed to zlib in slices: each call can then return 2 MiB at most, and each finished member copies
# only the rest of its slice.
_GZIP_SLICE_BYTES = 2 << 10

XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = XERIAL_MAGIC + struct.pack(">ii", 1, 1)
# The default block size of snappy-java's SnappyOutputStream, which Kafka does not change.
_XERIAL_BLOCK_BYTES = 32 << 10
# A snappy copy element turns 3 bytes into 64 at most.
_SNAPPY_RATIO_MAX = 22

# Java's zstd-jni accepts windows up to 2^27; the memory of a window is only touched as output appears.
_ZSTD_WINDOW_BYTES_MAX = 1 << 27

# A decompressor keeps the window of the largest frame it has read: level 3 asks for 2 MiB, 19 for 8 MiB.
_ZSTD_KEPT_BYTES_MAX = 4 << 20

_INT32 = struct.Struct(">i")

# Idle decompressors: making one takes 7 µs, three times as long as a batch of 16 KiB. Two threads may not
# share one, so it is taken out for use.
_zstd_idle: list[zstandard.ZstdDecompressor] = []


class Codec(IntEnum):
    """The codec numbers in bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class DecompressedTooLarge(Malformed):
    """Compressed data that expands beyond what its reader allows; nothing above the limit was allocated."""

    def __init__(self, codec: Codec, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            0,
            f"{codec.name.lower()} data",
            f"expands to {size_bytes} bytes or more; {limit_bytes} are allowed here",
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


def compress(codec: int, data: Readable, level: int | None = None) -> bytes:
    """Return `data` compressed as Kafka's Java client would; `level` None means the codec's default."""
    return _COMPRESSORS[codec](data, level)


def decompress(codec: int, data: Readable, limit_bytes: int = OUTPUT_BYTES_MAX) -> bytes:
    """Return the content of `data`: at most `limit_bytes`, and at most 1,000 times the input (or 1 MiB).

    Raises: DecompressedTooLarge beyond that; Malformed for data that is cut, damaged or of an unknown codec.
    """
    decompressor = _DECOMPRESSORS.get(codec)
    if decompressor is None:
        raise Malformed(0, "codec", f"number {codec} is unknown; 0 to 4 are known")
    allowed = min(limit_bytes, max(RATIO_FLOOR_BYTES, RATIO_MAX * len(data)))
    return decompressor(memoryview(data), allowed)


def _plain(data: Readable, level: int | None) -> bytes:
    return bytes(data)


def _gzip(data: Readable, level: int | None) -> bytes:
    return zlib.compress(data, -1 if level is None else level, GZIP_WBITS)


def _snappy(data: Readable, level: int | None) -> bytes:
    import cramjam

    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def _lz4(data: Readable, level: int | None) -> bytes:
    import cramjam

    # Kafka's Java reader refuses linked blocks, which are the library's default.
    compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    return bytes(compressor.finish())


def _zstd(data: Readable, level: int | None) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=3 if level is None else level).compress(data)


def _unplain(data: memoryview, allowed: int) -> bytes:
    if len(data) > allowed:
        raise DecompressedTooLarge(Codec.NONE, len(data), allowed)
    return bytes(data)


def _gunzip(data: memoryview, allowed: int) -> bytes:
    parts: list[bytes] = []
    size = position = 0
    for _ in range(PARTS_MAX):
        member = zlib.decompressobj(GZIP_WBITS)
        while not member.eof:
            piece = data[position : position + _GZIP_SLICE_BYTES]
            if not piece:
                raise Malformed(position, "gzip data", "cut inside a member")
            try:
                part = member.decompress(piece, allowed - size + 1)
            except zlib.error as error:
                raise Malformed(position, "gzip data", str(error)) from None
            size += len(part)
            if size > allowed:
                raise DecompressedTooLarge(Codec.GZIP, size, allowed)
            parts.append(part)
            position += len(piece) - len(member.unused_data)
        if bytes(data[position : position + 2]) != GZIP_MAGIC:
            return b"".join(parts)
    raise Malformed(position, "gzip data", f"more than {PARTS_MAX} members")


def _unsnappy(data: memoryview, allowed: int) -> bytes:
    return _unsnappy_chunks(xerial_chunks(data) if bytes(data[:8]) == XERIAL_MAGIC else [data], allowed)


def _unsnappy_chunks(chunks: list[memoryview], allowed: int) -> bytes:
    import cramjam

    sizes: list[int] = []
    for chunk in chunks:
        try:
            sizes.append(cramjam.snappy.decompress_raw_len(chunk))
        except cramjam.DecompressionError as error:
            raise Malformed(0, "snappy data", str(error)) from None
        if sizes[-1] > len(chunk) * _SNAPPY_RATIO_MAX:
            raise Malformed(0, "snappy data", f"{len(chunk)} bytes cannot hold the {sizes[-1]} they declare")
    total = sum(sizes)
    if total > allowed:
        raise DecompressedTooLarge(Codec.SNAPPY, total, allowed)
    output = memoryview(bytearray(total))
    position = 0
    for chunk, size in zip(chunks, sizes, strict=True):
        _into(cramjam.snappy.decompress_raw_into, chunk, output[position : position + size], "snappy data")
        position += size
    return bytes(output)


def decompress_snappy_chunk(chunk: memoryview, limit_bytes: int) -> bytes:
    """Return the content of one raw snappy chunk.  Raises: Malformed, DecompressedTooLarge."""
    return _unsnappy_chunks([chunk], limit_bytes)


def xerial_chunks(data: memoryview) -> list[memoryview]:
    """Cut a xerial stream into its raw snappy chunks; a second stream may follow, as snappy-java allows."""
    chunks: list[memoryview] = []
    position = 0
    while position < len(data):
        if bytes(data[position : position + 8]) == XERIAL_MAGIC:
            position += len(_XERIAL_HEADER)
            if position > len(data):
                raise Malformed(len(data), "snappy stream header", "cut")
            continue
        if position + 4 > len(data):
            raise Malformed(position, "snappy chunk size", "cut: the input ends here")
        size = _INT32.unpack_from(data, position)[0]
        position += 4
        if not 0 < size <= len(data) - position:
            raise Malformed(
                position - 4, "snappy chunk size", f"{size}; {len(data) - position} bytes are left"
            )
        chunks.append(data[position : position + size])
        position += size
        if len(chunks) > PARTS_MAX:
            raise Malformed(position, "snappy stream", f"more than {PARTS_MAX} chunks")
    return chunks


def _unlz4(data: memoryview, allowed: int) -> bytes:
    import cramjam

    extent = lz4_frame(data)
    _refuse_too_large(Codec.LZ4, extent, allowed)
    room = min(extent.size_bytes_max, allowed)
    output = memoryview(bytearray(room))
    try:
        size = cramjam.lz4.decompress_into(data[: extent.end], output)
    except cramjam.DecompressionError as error:
        if room < extent.size_bytes_max and "whole buffer" in str(error):
            raise DecompressedTooLarge(Codec.LZ4, room + 1, allowed) from None
        raise Malformed(0, "lz4 data", str(error)) from None
    return bytes(output[:size])


def _unzstd(data: memoryview, allowed: int) -> bytes:
    import zstandard

    try:
        decompressor = _zstd_idle.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES_MAX)
    try:
        return _unzstd_with(decompressor, data, allowed)
    finally:
        if decompressor.memory_size() <= _ZSTD_KEPT_BYTES_MAX:
            _zstd_idle.append(decompressor)


def _unzstd_with(decompressor: zstandard.ZstdDecompressor, data: memoryview, allowed: int) -> bytes:
    import zstandard

    parts: list[bytes] = []
    left, position = allowed, 0
    for _ in range(PARTS_MAX):
        extent = zstd_frame(data[position:])
        _refuse_too_large(Codec.ZSTD, extent, left)
        if extent.size_bytes_max and extent.declared_bytes != 0:
            room = min(extent.size_bytes_max, left)
            frame = data[position : position + extent.end]
            try:
                parts.append(decompressor.decompress(frame, max_output_size=room))
            except zstandard.ZstdError as error:
                if room < extent.size_bytes_max and "full frame" in str(error):
                    raise DecompressedTooLarge(Codec.ZSTD, room + 1, allowed) from None
                raise Malformed(position, "zstd data", str(error)) from None
            left -= len(parts[-1])
        position += extent.end
        if position == len(data):
            return b"".join(parts)
    raise Malformed(position, "zstd data", f"more than {PARTS_MAX} frames")


def _refuse_too_large(codec: Codec, extent: FrameExtent, allowed: int) -> None:
    certain = extent.size_bytes_min if extent.declared_bytes is None else extent.declared_bytes
    if certain > allowed:
        raise DecompressedTooLarge(codec, certain, allowed)


def _into(decompress_into: Callable[..., int], data: memoryview, output: memoryview, field: str) -> None:
    """Fill `output` exactly, or raise Malformed."""
    import cramjam

    try:
        size = decompress_into(data, output)
    except cramjam.DecompressionError as error:
        raise Malformed(0, field, str(error)) from None
    if size != len(output):
        raise Malformed(0, field, f"{size} bytes came out; {len(output)} were declared")


_COMPRESSORS: dict[int, Callable[[Readable, int | None], bytes]] = {
    Codec.NONE: _plain,
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
_DECOMPRESSORS: dict[int, Callable[[memoryview, int], bytes]] = {
    Codec.NONE: _unplain,
    Codec.GZIP: _gunzip,
    Codec.SNAPPY: _unsnappy,
    Codec.LZ4: _unlz4,
    Codec.ZSTD: _unzstd,
}
