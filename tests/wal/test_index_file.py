"""A stored index is written in pieces with little memory, and is not taken when it is damaged."""

from __future__ import annotations

import struct
import tracemalloc
from collections import Counter
from itertools import accumulate

import pytest
from crc32c import crc32c

from tests.wal.test_index import SEED, built
from wal.index import ActiveIndex
from wal.index_file import PIECE_BYTES, PIECE_ROWS, decode_index, encode_index, index_pieces
from wal.scan import NO_TIMESTAMP


def of_streams(extents: int, streams: int) -> ActiveIndex:
    """Return an index of extents that the streams have in turn, each in a frame of its own."""
    index = ActiveIndex()
    for number in range(extents):
        index.add_frame(64 + 200 * number, number)
        index.add(
            1 + number * 7 % streams, base=number, count=1, position=192 + 200 * number, size=70,
            max_timestamp=5_000 - number, version=number,
        )  # fmt: skip
    return index


def as_documented(index: ActiveIndex) -> bytes:
    """Return the bytes that the grammar at the top of wal/index_file.py asks for."""
    rows = sorted(range(len(index.base)), key=lambda row: (index.stream[row], index.base[row]))
    streams = sorted(set(index.stream))
    starts = [0, *accumulate(count for _, count in sorted(Counter(index.stream).items()))]
    columns = [
        ("Q", streams),
        ("q", [index.base[row] for row in rows]),
        ("Q", [index.version[row] for row in rows]),
        ("q", [index.max_timestamp[row] for row in rows]),
        ("Q", index.frame_version),
        ("I", starts),
        ("I", [index.count[row] for row in rows]),
        ("I", [index.position[row] for row in rows]),
        ("I", [index.size[row] for row in rows]),
        ("I", index.frame_position),
    ]
    header = struct.pack(
        "<8sHxxIQQIIIQq4x", b"KAWALIDX", 1, 9, 42, 77_000, len(streams), len(rows),
        len(index.frame_version), 50, max(index.max_timestamp, default=NO_TIMESTAMP),
    )  # fmt: skip
    data = header + b"".join(struct.pack(f"<{len(items)}{code}", *items) for code, items in columns)
    return data + struct.pack("<I", crc32c(data, SEED))


@pytest.mark.parametrize(
    "index",
    [
        ActiveIndex(),
        of_streams(1, 1),
        built(),
        of_streams(PIECE_ROWS, 3),
        of_streams(2 * PIECE_ROWS + 5, 7),
        of_streams(3_000, 2_999),
    ],
    ids=lambda index: str(len(index.base)),
)
def test_an_index_is_written_in_pieces_that_are_together_as_documented(index: ActiveIndex) -> None:
    pieces = list(
        index_pieces(index, vnode_id=9, base_version=42, end_position=77_000, next_version=50, seed=SEED)
    )
    assert b"".join(pieces) == as_documented(index)
    assert max(map(len, pieces)) <= PIECE_BYTES + 4
    assert pieces == [b"".join(pieces)] or len(b"".join(pieces)) > PIECE_BYTES
    assert b"".join(pieces) == encode_index(
        index, vnode_id=9, base_version=42, end_position=77_000, next_version=50, seed=SEED
    )


def test_writing_an_index_takes_at_most_16_bytes_an_extent_beside_it() -> None:
    index, extents = of_streams(60_000, 20_000), 60_000
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        size = sum(
            len(piece)
            for piece in index_pieces(
                index, vnode_id=9, base_version=42, end_position=1, next_version=50, seed=SEED
            )
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 40 * extents
    assert peak - before < 16 * extents + 4 * PIECE_BYTES


def test_no_damaged_or_foreign_index_is_taken() -> None:
    data = encode_index(
        built(2, 3, 9), vnode_id=1, base_version=42, end_position=1, next_version=2, seed=SEED
    )

    assert decode_index(data, base_version=43, seed=SEED) is None
    assert decode_index(data, base_version=42, seed=SEED + 1) is None
    assert decode_index(b"", base_version=42, seed=SEED) is None
    assert decode_index(bytes(len(data)), base_version=42, seed=SEED) is None
    for size in range(0, len(data), 7):
        assert decode_index(data[:size], base_version=42, seed=SEED) is None
    for bit in range(0, 8 * len(data), 3):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        assert decode_index(bytes(damaged), base_version=42, seed=SEED) is None
