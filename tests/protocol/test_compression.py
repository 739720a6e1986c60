"""Every codec returns what it was given, reads what others write, and never expands without bound."""

from __future__ import annotations

import gzip
import itertools
import random
import struct
import tracemalloc
import zlib

import cramjam
import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import compression
from protocol.compressed_frames import PARTS_MAX
from protocol.compression import OUTPUT_BYTES_MAX, Codec, DecompressedTooLarge, compress, decompress
from protocol.errors import Malformed

MIB = 1 << 20
TEXT = b"".join(b'{"carrier":"UA","flight":%d,"delay":%d}\n' % (n, n * 7 % 61) for n in range(4000))
COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]

contents = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda part, times: part * times, st.binary(min_size=1, max_size=40), st.integers(0, 5000)),
)


@pytest.mark.parametrize("codec", list(Codec))
@settings(max_examples=80, deadline=None)
@given(data=contents)
def test_content_survives_the_round_trip(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", list(Codec))
def test_any_buffer_type_is_read(codec: Codec) -> None:
    packed = compress(codec, bytearray(TEXT))
    framed = memoryview(bytearray(b"??" + packed))[2:]
    assert decompress(codec, framed) == decompress(codec, bytearray(packed)) == TEXT


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_level_is_taken_and_shrinks_text(codec: Codec) -> None:
    assert len(compress(codec, TEXT, level=1)) < len(TEXT) / 2
    assert decompress(codec, compress(codec, TEXT, level=9)) == TEXT


def test_lz4_is_written_in_independent_64_kib_blocks_as_java_requires() -> None:
    frame = compress(Codec.LZ4, TEXT)
    version_and_flags, block_class = frame[4], frame[5]
    assert (version_and_flags >> 6, version_and_flags >> 5 & 1, block_class >> 4) == (1, 1, 4)


def test_snappy_is_written_in_xerial_chunks_of_32_kib() -> None:
    stream = compress(Codec.SNAPPY, TEXT)
    assert stream[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    size = struct.unpack_from(">i", stream, 16)[0]
    assert len(snappy.uncompress(stream[20 : 20 + size])) == 32 << 10


def test_raw_snappy_is_read() -> None:
    assert decompress(Codec.SNAPPY, snappy.compress(TEXT)) == TEXT


def test_two_xerial_streams_in_a_row_are_read() -> None:
    stream = compress(Codec.SNAPPY, TEXT)
    assert decompress(Codec.SNAPPY, stream + stream) == TEXT + TEXT


def test_gzip_members_in_a_row_are_read_and_what_follows_them_is_ignored() -> None:
    members = gzip.compress(b"first,") + gzip.compress(b"") + gzip.compress(TEXT)
    assert decompress(Codec.GZIP, members) == b"first," + TEXT
    assert decompress(Codec.GZIP, members + b"padding") == b"first," + TEXT


@pytest.mark.parametrize(
    "options",
    [
        {"block_linked": True},
        {"content_checksum": True, "block_checksum": True},
        {"store_size": False, "block_size": lz4.frame.BLOCKSIZE_MAX1MB},
        {"compression_level": 12},
    ],
)
def test_every_shape_of_lz4_frame_is_read(options: dict[str, int]) -> None:
    frame = lz4.frame.compress(TEXT, **options)
    assert decompress(Codec.LZ4, frame) == TEXT
    assert decompress(Codec.LZ4, frame + b"ignored") == TEXT


@pytest.mark.parametrize("level", [1, 3, 22])
@pytest.mark.parametrize("known_size", [True, False])
@pytest.mark.parametrize("checksum", [True, False])
def test_every_shape_of_zstd_frame_is_read(*, level: int, known_size: bool, checksum: bool) -> None:
    writer = zstandard.ZstdCompressor(level=level, write_checksum=checksum, write_content_size=known_size)
    stream = writer.compressobj(size=len(TEXT) if known_size else -1)
    frame = stream.compress(TEXT) + stream.flush()
    assert decompress(Codec.ZSTD, frame) == TEXT


def test_a_zstd_frame_that_is_refused_leaves_nothing_behind_for_the_next() -> None:
    frame = compress(Codec.ZSTD, TEXT)
    for damaged in (frame[:-3], frame[:20] + b"\xff" * 9 + frame[29:]):
        with pytest.raises(Malformed):
            decompress(Codec.ZSTD, damaged)
        assert decompress(Codec.ZSTD, frame) == TEXT


def test_no_zstd_decompressor_with_a_large_window_is_kept() -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    writer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    frame = writer.compress(TEXT) + writer.flush()
    assert decompress(Codec.ZSTD, frame) == TEXT
    assert all(idle.memory_size() <= 4 * MIB for idle in compression._zstd_idle)
    decompress(Codec.ZSTD, compress(Codec.ZSTD, TEXT))
    kept = list(compression._zstd_idle)
    decompress(Codec.ZSTD, compress(Codec.ZSTD, TEXT))
    assert compression._zstd_idle == kept


def test_zstd_frames_and_skippable_frames_in_a_row_are_read() -> None:
    frame = compress(Codec.ZSTD, TEXT)
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"notes"
    assert (
        decompress(Codec.ZSTD, skippable + frame + skippable + compress(Codec.ZSTD, b"") + frame) == TEXT * 2
    )


@pytest.mark.parametrize("codec", COMPRESSING)
def test_data_cut_anywhere_is_malformed(codec: Codec) -> None:
    packed = compress(codec, TEXT[:9000])
    whole_chunks = {16} if codec == Codec.SNAPPY else set()
    for size in set(range(len(packed))) - whole_chunks:
        with pytest.raises(Malformed):
            decompress(codec, packed[:size])


@pytest.mark.parametrize("codec", COMPRESSING)
def test_damaged_data_ends_in_malformed_or_in_bounded_output(codec: Codec) -> None:
    chance = random.Random(f"damage {codec}")
    packed = [compress(codec, TEXT[:3000]), compress(codec, b"\x00" * 5000)]
    if codec == Codec.SNAPPY:
        packed.append(snappy.compress(TEXT[:3000]))
    if codec == Codec.ZSTD:
        packed.append(zstandard.ZstdCompressor(write_content_size=False).compress(TEXT[:3000]))
    for source in itertools.islice(itertools.cycle(packed), 3000):
        damaged = bytearray(source)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(min(len(damaged), chance.choice([24, 9999])))] = chance.randrange(256)
        try:
            output = decompress(codec, damaged)
        except Malformed:
            continue
        assert len(output) <= MIB


@pytest.mark.parametrize("codec", COMPRESSING)
@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=200))
def test_noise_is_malformed_or_short(codec: Codec, data: bytes) -> None:
    magic = {Codec.GZIP: b"\x1f\x8b\x08", Codec.SNAPPY: b"", Codec.LZ4: b"\x04\x22\x4d\x18\x60\x40\x82"}
    for source in (data, magic.get(codec, b"\x28\xb5\x2f\xfd") + data):
        try:
            output = decompress(codec, source)
        except Malformed:
            continue
        assert len(output) <= MIB


def _bombs() -> dict[str, tuple[Codec, bytes]]:
    zeros = bytes(64 * MIB)
    unsized = zstandard.ZstdCompressor(level=3, write_content_size=False).compressobj()
    lz4_blocks = lz4.frame.compress(zeros, store_size=False, block_size=lz4.frame.BLOCKSIZE_MAX4MB)
    return {
        "zstd declaring its size": (Codec.ZSTD, zstandard.ZstdCompressor(level=3).compress(zeros * 4)),
        "zstd hiding its size": (Codec.ZSTD, unsized.compress(zeros) + unsized.flush()),
        "zstd of repeated-byte blocks": (Codec.ZSTD, _zstd_of_repeated_bytes(blocks=2000)),
        "gzip": (Codec.GZIP, zlib.compress(zeros, 9, 31)),
        "lz4 hiding its size": (Codec.LZ4, lz4_blocks),
        "lz4 declaring its size": (Codec.LZ4, lz4.frame.compress(zeros, store_size=True)),
        "snappy": (Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(zeros))),
    }


def _zstd_of_repeated_bytes(blocks: int) -> bytes:
    block = (128 << 10) << 3 | 1 << 1
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + (block.to_bytes(3, "little") + b"z") * blocks
    return frame + (block | 1).to_bytes(3, "little") + b"z"


BOMBS = _bombs()


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_within_its_memory_bound(bomb: str) -> None:
    codec, data = BOMBS[bomb]
    allowed = min(OUTPUT_BYTES_MAX, max(MIB, 1000 * len(data)))
    tracemalloc.start()
    with pytest.raises(DecompressedTooLarge) as refused:
        decompress(codec, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused.value.limit_bytes == allowed
    assert peak <= allowed + 4 * MIB


def test_the_ratio_stops_small_bombs_below_the_limit() -> None:
    with pytest.raises(DecompressedTooLarge):
        decompress(Codec.ZSTD, compress(Codec.ZSTD, bytes(8 * MIB)), limit_bytes=64 * MIB)


@pytest.mark.parametrize("codec", list(Codec))
def test_the_limit_is_exact(codec: Codec) -> None:
    packed = compress(codec, TEXT)
    assert decompress(codec, packed, limit_bytes=len(TEXT)) == TEXT
    with pytest.raises(DecompressedTooLarge):
        decompress(codec, packed, limit_bytes=len(TEXT) - 1)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\x00" * 20),
        (Codec.SNAPPY, b"\x80\x80\x40" + b"\x00" * 20),
        (Codec.SNAPPY, compress(Codec.SNAPPY, b"")[:16] + b"\x7f\xff\xff\xff" + b"x" * 20),
        (Codec.SNAPPY, compress(Codec.SNAPPY, b"")[:16] + b"\xff\xff\xff\xff" + b"x" * 20),
        (Codec.SNAPPY, compress(Codec.SNAPPY, b"")[:16] + bytes(4)),
        (Codec.ZSTD, b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 900_000) + b"\x01\x00\x00"),
        (Codec.LZ4, b"\x04\x22\x4d\x18\x68\x40" + struct.pack("<Q", 900_000) + b"\x00" + bytes(4)),
        (Codec.LZ4, b"\x04\x22\x4d\x18\x60\x40\x82" + struct.pack("<I", 70_000) + bytes(70_004)),
    ],
)
def test_a_size_that_lies_is_malformed_before_it_is_believed(codec: Codec, data: bytes) -> None:
    with pytest.raises(Malformed):
        decompress(codec, data)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (Codec.GZIP, gzip.compress(b"") * (PARTS_MAX + 1)),
        (Codec.SNAPPY, compress(Codec.SNAPPY, b"") + b"\x00\x00\x00\x02\x01\x00" * (PARTS_MAX + 1)),
        (Codec.LZ4, b"\x04\x22\x4d\x18\x60\x40\x82" + b"\x01\x00\x00\x80x" * (PARTS_MAX + 1) + bytes(4)),
        (Codec.ZSTD, struct.pack("<II", 0x184D2A50, 0) * (PARTS_MAX + 1)),
        (Codec.ZSTD, b"\x28\xb5\x2f\xfd\x00\x58" + b"\x08\x00\x00x" * (PARTS_MAX + 1) + b"\x01\x00\x00"),
    ],
)
def test_a_stream_of_tiny_parts_is_malformed(codec: Codec, data: bytes) -> None:
    with pytest.raises(Malformed, match=r"more than 20000|number 20001"):
        decompress(codec, data)


@pytest.mark.parametrize("number", [5, 6, 7, -1])
def test_unknown_codecs_are_malformed(number: int) -> None:
    with pytest.raises(Malformed, match="unknown"):
        decompress(number, b"x")


def test_empty_input_is_malformed_for_every_codec_that_has_a_header() -> None:
    for codec in COMPRESSING:
        with pytest.raises(Malformed):
            decompress(codec, b"")
