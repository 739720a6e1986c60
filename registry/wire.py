"""Protobuf's wire format: the fields of a message as numbers and bytes, before a schema says what they are.

    message := (tag value)*        tag := varint, number << 3 | wire type

Source: Protocol Buffers, Encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from registry.errors import NotOfSchema

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED: Final = {FIXED64: 8, FIXED32: 4}
_BITS_MAX: Final = 63

Field = tuple[int, int, int | bytes]
"""Number, wire type and value: an integer of a varint, else bytes."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned varint of at most 64 bits and the position after it.  Raises: NotOfSchema."""
    number = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > _BITS_MAX:
            raise NotOfSchema(f"a number at byte {at} does not end")
    raise NotOfSchema(f"a number is cut at byte {at}")


def read_fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of a message.  Raises: NotOfSchema, also for groups, which nothing writes any more."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise NotOfSchema(f"there is no field {number}, at byte {at}")
        if kind == VARINT:
            value, at = read_varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = read_varint(data, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise NotOfSchema(f"field {number} has the wire type {kind}, at byte {at}")
        if size > len(data) - at:
            raise NotOfSchema(f"field {number} has {size} bytes, at byte {at} of {len(data)}")
        yield number, kind, data[at : at + size]
        at += size


def signed(number: int, bits: int) -> int:
    """Return the number that these lowest bits are in two's complement."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def zigzag(number: int) -> int:
    """Return the number that a zigzag varint stands for."""
    return number >> 1 ^ -(number & 1)


def read_packed(data: bytes, kind: int) -> Iterator[int | bytes]:
    """Yield the values of a packed field.  Raises: NotOfSchema."""
    if kind == VARINT:
        at = 0
        while at < len(data):
            value, at = read_varint(data, at)
            yield value
        return
    size = _FIXED[kind]
    if len(data) % size:
        raise NotOfSchema(f"{len(data)} bytes are not numbers of {size}")
    for (value,) in struct.iter_unpack(f"{size}s", data):
        yield value
