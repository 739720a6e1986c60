"""The content of a compressed batch, a part at a time: for lookups that must not need memory for all of it.

    gzip, zstd       streams, in parts of 1 MiB
    snappy (xerial)  chunk by chunk, as they were compressed: 32 KiB for Java
    lz4              block by block, 64 KiB to 4 MiB
    raw snappy, lz4 with blocks that refer to earlier ones    as a whole, up to WHOLE_BYTES_MAX

Unlike `decompress` this has no limit for the content as a whole: 80 bytes may stand for gigabytes, and the
caller decides how long it goes on.

Source: as for `protocol.compression`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

from protocol.compressed_frames import PARTS_MAX, lz4_block_sizes, lz4_frame
from protocol.compression import (
    GZIP_MAGIC,
    GZIP_WBITS,
    XERIAL_MAGIC,
    Codec,
    decompress,
    decompress_snappy_chunk,
    xerial_chunks,
)
from protocol.errors import Malformed

PART_BYTES = 1 << 20
"""The largest part of a stream."""

WHOLE_BYTES_MAX = 64 << 20
"""The limit for content that cannot be read in parts."""

ZSTD_WINDOW_BYTES_MAX = 32 << 20
"""The memory that one stream may refer back to: zstd's level 19 asks for 8 MiB."""

_LZ4_INDEPENDENT = 0x20
_U32_LE = struct.Struct("<I")


def decompressed_parts(codec: int, data: memoryview) -> Iterator[bytes]:
    """Yield the content of `data` in order; parts may be empty.

    Raises: Malformed, possibly after some parts; DecompressedTooLarge for content that has to be opened as a
    whole and is above WHOLE_BYTES_MAX.
    """
    reader = _READERS.get(codec)
    if reader is None:
        raise Malformed(0, "codec", f"number {codec} is unknown; 0 to 4 are known")
    return reader(data)


def _plain(data: memoryview) -> Iterator[bytes]:
    for start in range(0, len(data), PART_BYTES):
        yield bytes(data[start : start + PART_BYTES])


def _gzip(data: memoryview) -> Iterator[bytes]:
    position = 0
    for _ in range(PARTS_MAX):
        member, left = zlib.decompressobj(GZIP_WBITS), data[position:]
        while not member.eof:
            try:
                part = member.decompress(left, PART_BYTES)
            except zlib.error as error:
                raise Malformed(position, "gzip data", str(error)) from None
            left = memoryview(member.unconsumed_tail)
            if not part and not left and not member.eof:
                raise Malformed(len(data), "gzip data", "cut inside a member")
            yield part
        position = len(data) - len(member.unused_data)
        if bytes(data[position : position + 2]) != GZIP_MAGIC:
            return
    raise Malformed(position, "gzip data", f"more than {PARTS_MAX} members")


def _snappy(data: memoryview) -> Iterator[bytes]:
    if bytes(data[:8]) != XERIAL_MAGIC:
        yield decompress(Codec.SNAPPY, data, WHOLE_BYTES_MAX)
        return
    for chunk in xerial_chunks(data):
        yield decompress_snappy_chunk(chunk, WHOLE_BYTES_MAX)


def _lz4(data: memoryview) -> Iterator[bytes]:
    import cramjam

    lz4_frame(data)
    if not data[4] & _LZ4_INDEPENDENT:
        yield decompress(Codec.LZ4, data, WHOLE_BYTES_MAX)
        return
    output = memoryview(bytearray())
    for position, size, is_stored, block_size_max in lz4_block_sizes(data):
        block = data[position : position + size]
        if is_stored:
            yield bytes(block)
            continue
        if not output:
            output = memoryview(bytearray(block_size_max))
        try:
            yield bytes(output[: cramjam.lz4.decompress_block_into(block, output)])
        except cramjam.DecompressionError as error:
            raise Malformed(position, "lz4 block", str(error)) from None


def _zstd(data: memoryview) -> Iterator[bytes]:
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
    try:
        with decompressor.stream_reader(data, read_across_frames=True) as reader:
            while part := reader.read(PART_BYTES):
                yield part
    except zstandard.ZstdError as error:
        raise Malformed(0, "zstd data", str(error)) from None


_READERS: dict[int, Callable[[memoryview], Iterator[bytes]]] = {
    Codec.NONE: _plain,
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
