"""The objects of a journal: their bytes, and their keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wal.remote.formats import JournalMark, RemoteDamaged
from wal.remote.journal_format import (
    FENCE_BYTES_MAX,
    JournalHeader,
    JournalSlice,
    decode_journal,
    encode_journal,
    journal_key,
    mark_of,
)

counts = st.integers(min_value=0, max_value=2**62)
parts = st.lists(st.tuples(st.text(max_size=20), counts, counts, counts, st.binary(max_size=50)), max_size=4)


@given(epoch=counts, number=counts, incarnation=st.text(max_size=20), logs=st.lists(st.text()), found=parts)
def test_what_was_encoded_is_decoded(
    epoch: int, number: int, incarnation: str, logs: list[str], found: list[tuple[str, int, int, int, bytes]]
) -> None:
    slices = tuple(JournalSlice(*part[:4], len(part[4])) for part in found)
    header = JournalHeader(
        epoch=epoch, number=number, incarnation=incarnation, slices=slices, logs=tuple(logs)
    )
    decoded = decode_journal(encode_journal(header, b"".join(part[4] for part in found)), "k")
    assert (decoded.header.epoch, decoded.header.number) == (epoch, number)
    assert (decoded.header.incarnation, decoded.header.logs) == (incarnation, tuple(logs))
    assert [(part, bytes(data)) for part, data in decoded.pieces()] == [
        (slices[row], part[4]) for row, part in enumerate(found)
    ]
    assert not decoded.is_fence


def chunk() -> bytes:
    """Return a small chunk."""
    header = JournalHeader(
        epoch=1, number=2, incarnation="a", slices=(JournalSlice("meta", 0, 7, 4096, 5),), logs=("meta",)
    )
    return encode_journal(header, b"bytes")


@pytest.mark.parametrize(
    "data", [chunk(), encode_journal(JournalHeader(epoch=1, number=2, incarnation="b", fenced_by=2))]
)
def test_every_flipped_bit_is_found(data: bytes) -> None:
    for position in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            with pytest.raises(RemoteDamaged, match="the-key"):
                decode_journal(bytes(flipped), "the-key")


def test_every_missing_end_and_every_byte_too_many_is_found() -> None:
    data = chunk()
    for size in range(len(data)):
        with pytest.raises(RemoteDamaged, match="the-key"):
            decode_journal(data[:size], "the-key")
    with pytest.raises(RemoteDamaged, match="6 bytes of 5"):
        decode_journal(data + b"x", "the-key")


def test_a_fence_says_so_and_is_small_whatever_its_numbers() -> None:
    header = JournalHeader(epoch=2**31, number=2**62, incarnation="f" * 64, fenced_by=2**31 + 1)
    data = encode_journal(header)
    assert decode_journal(data, "k").is_fence
    assert len(data) < FENCE_BYTES_MAX


@given(epoch=st.integers(0, 10**10 - 1), number=st.integers(0, 10**20 - 1))
def test_a_key_tells_its_place_and_keys_sort_as_places_do(epoch: int, number: int) -> None:
    key = journal_key("c", epoch, number)
    assert mark_of(key, "c") == JournalMark(epoch, number)
    assert (key < journal_key("c", 5, 5)) == (JournalMark(epoch, number) < JournalMark(5, 5))


@pytest.mark.parametrize(
    "key",
    ["c/cut", "c/journal/1", "c/journal/1/x", "c/journal/x/1", "d/journal/1/1", "c/journal/1/1/1", "1/1"],
)
def test_other_keys_are_no_places(key: str) -> None:
    assert mark_of(key, "c") is None
