"""Tests of views/opening.py."""

from __future__ import annotations

from random import Random

import pytest

from protocol.compression import Codec, DecompressedTooLarge
from protocol.errors import Malformed
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from views.opening import SMALL_BYTES, SMALL_CONTENT_BYTES, is_packed, opened, opened_if_small

LIMIT = 16 << 20


def of(value: bytes, codec: int = Codec.GZIP) -> memoryview:
    return memoryview(encode_batch([Record(0, 0, None, value)], codec=codec))


def test_only_compressed_batches_are_packed() -> None:
    assert is_packed(of(b"a"))
    assert not is_packed(of(b"a", Codec.NONE))
    assert not is_packed(memoryview(b""))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_holds_little_is_opened_at_once_and_others_are_left(codec: Codec) -> None:
    small, large = of(bytes(1_000), codec), of(bytes(SMALL_CONTENT_BYTES), codec)
    assert opened_if_small(small, LIMIT) == opened(small, LIMIT)
    assert opened_if_small(large, LIMIT) is None
    content = opened(large, LIMIT)
    assert isinstance(content, bytes)
    assert len(content) > SMALL_CONTENT_BYTES


def test_a_large_batch_is_not_even_tried() -> None:
    noise = Random(1).randbytes(SMALL_BYTES)
    assert opened_if_small(of(noise), LIMIT) is None


def test_what_cannot_be_opened_is_a_reason() -> None:
    damaged = bytearray(of(b"a" * 100))
    damaged[61] ^= 0xFF
    assert isinstance(opened_if_small(memoryview(damaged), LIMIT), Malformed)
    assert isinstance(opened(of(bytes(5_000)), 1_000), DecompressedTooLarge)
