"""Batches of records with keys, byte by byte, and the records in what a broker gives back.

Independent of the gateway's own code.  Values of None are tombstones.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from typing import NamedTuple

from compat_tests.batches import CODECS, Batch, varint
from compat_tests.times import START_MS

GZIP = CODECS["gzip"]

Pair = tuple[bytes | None, bytes | None]


class Kept(NamedTuple):
    """A record as a reader sees it."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


def keyed_batch(
    pairs: Sequence[Pair],
    *,
    codec: int = 0,
    timestamp_ms: int = START_MS,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """Return a batch with these keys and values; the records' times are one millisecond apart."""
    records = b"".join(_record(index, *pair) for index, pair in enumerate(pairs))
    identity, epoch, sequence = producer
    return Batch(
        values=[b""] * len(pairs),
        attributes=codec,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms + len(pairs) - 1,
        producer_id=identity,
        producer_epoch=epoch,
        base_sequence=sequence,
        payload=gzip.compress(records) if codec == GZIP else records,
    ).encode()


def records_in(batch: bytes) -> list[Kept]:
    """Return the records of a stored batch, plain or gzip."""
    base, attributes, base_ms, count = (
        *struct.unpack_from(">q", batch),
        *struct.unpack_from(">h", batch, 21),
        *struct.unpack_from(">q", batch, 27),
        *struct.unpack_from(">i", batch, 57),
    )
    body = batch[61:]
    if attributes & 7 and count:
        assert attributes & 7 == GZIP
        body = gzip.decompress(body)
    found, position = [], 0
    for _ in range(count):
        length, position = _readvarint(body, position)
        end = position + length
        delta_ms, position = _readvarint(body, position + 1)
        delta, position = _readvarint(body, position)
        key, position = _read_field(body, position)
        value, position = _read_field(body, position)
        found.append(Kept(base + delta, base_ms + delta_ms, key, value))
        position = end
    return found


def _record(index: int, key: bytes | None, value: bytes | None) -> bytes:
    body = b"\x00" + varint(index) + varint(index) + _field(key) + _field(value) + varint(0)
    return varint(len(body)) + body


def _field(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def _readvarint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position


def _read_field(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = _readvarint(data, position)
    return (None, position) if length < 0 else (data[position : position + length], position + length)
