"""Protobuf's wire format."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import NotOfSchema
from registry.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    read_fields,
    read_packed,
    read_varint,
    signed,
    zigzag,
)


def test_fields_have_numbers_kinds_and_values() -> None:
    data = b"\x08\x96\x01" + b"\x12\x02hi" + b"\x19" + b"\1" * 8 + b"\x25" + b"\2" * 4
    assert list(read_fields(data)) == [
        (1, VARINT, 150),
        (2, BYTES, b"hi"),
        (3, FIXED64, b"\1" * 8),
        (4, FIXED32, b"\2" * 4),
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\x08", "cut at byte 1"),
        (b"\xff" * 11, "does not end"),
        (b"\x00", "no field 0"),
        (b"\x0b", "wire type 3"),
        (b"\x12\x05hi", "field 2 has 5 bytes, at byte 2 of 4"),
        (b"\x19\1", "field 3 has 8 bytes"),
    ],
)
def test_what_is_no_message_is_told(data: bytes, sentence: str) -> None:
    with pytest.raises(NotOfSchema, match=sentence):
        list(read_fields(data))


def test_packed_values_follow_each_other() -> None:
    assert list(read_packed(b"\1\x96\1", VARINT)) == [1, 150]
    assert list(read_packed(b"abcdefgh", FIXED32)) == [b"abcd", b"efgh"]
    with pytest.raises(NotOfSchema, match="5 bytes are not numbers of 4"):
        list(read_packed(b"abcde", FIXED32))


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_signed_by_two_rules(number: int) -> None:
    assert signed(number & (2**64 - 1), 64) == number
    assert zigzag((number << 1) ^ (number >> 63)) == number


@given(st.binary(max_size=40))
def test_any_bytes_are_fields_or_an_error(data: bytes) -> None:
    with suppress(NotOfSchema):
        assert all(number > 0 for number, _, _ in read_fields(data))
    with suppress(NotOfSchema):
        assert read_varint(data, 0)[0] < 1 << 64
