"""Keys of records that follow each other and have the same shape: those of one size, with keys of one length.

Many producers write such records: sensors, counters, Avro without strings.  Every byte that tells a length is
then at a constant distance from that of the record before, so a slice with a step has them all, and one
comparison of bytes says how many are alike:

    record := length attributes timestamp-delta offset-delta key-length key …
    body[at::stride] = b"\\xd8\\x01\\xd8\\x01…"   the lengths of all of them

That takes a part of the time that going from one record to the next does.
Source: Kafka 4.3, org.apache.kafka.common.record.internal.DefaultRecord (the format).
"""

from __future__ import annotations

from typing import Final, NamedTuple

LEAST: Final = 8
"""The records from which on it is quicker."""

_CONTINUED: Final = bytes(0x80 if byte > 127 else 0 for byte in range(256))
"""Of each byte of a varint: whether another one follows."""


class Shape(NamedTuple):
    """The first of some records, by positions relative to its start."""

    stride: int
    length_bytes: int
    timestamp_bytes: int
    offset_bytes: int
    key_length: int

    @property
    def key_at(self) -> int:
        """The position of the key."""
        return self.length_bytes + 1 + self.timestamp_bytes + self.offset_bytes + 1


def alike(body: bytes, at: int, most: int) -> tuple[list[bytes], int] | None:
    """Return the keys of up to `most` records that have the shape of the first, at `at`, and where they end.

    None: they are too few, or of a shape that this does not know: keys that are null or longer than 63 bytes,
    lengths and deltas of more than two bytes.
    """
    try:
        shape = _shape(body, at)
    except IndexError:
        return None
    if shape is None:
        return None
    stride, end = shape.stride, shape.key_at
    count = min(most, (len(body) - at) // stride)
    varints = (
        (0, shape.length_bytes, True),
        (shape.length_bytes + 1, shape.timestamp_bytes, False),
        (shape.length_bytes + 1 + shape.timestamp_bytes, shape.offset_bytes, False),
        (end - 1, 1, True),
    )
    for first, width, is_same in varints:
        for place in range(at + first, at + first + width):
            if count < LEAST:
                return None
            column = body[place : place + stride * (count - 1) + 1 : stride]
            if not is_same:
                column = column.translate(_CONTINUED)
            count -= len(column.lstrip(column[:1]))
    if count < LEAST:
        return None
    first, after = at + end, at + stride * count
    return [body[key : key + shape.key_length] for key in range(first, after, stride)], after


def _shape(body: bytes, at: int) -> Shape | None:
    """Return the shape of the record at a position.  Raises: IndexError."""
    length_bytes = 1 if body[at] < 128 else 2
    length = _varint(body, at, length_bytes)
    place = at + length_bytes + 1
    timestamp_bytes = 1 if body[place] < 128 else 2
    place += timestamp_bytes
    offset_bytes = 1 if body[place] < 128 else 2
    key_length = _varint(body, place + offset_bytes, 1)
    if min(length, key_length) < 0 or max(body[place - 1], body[place + offset_bytes - 1]) > 127:
        return None
    shape = Shape(length_bytes + length, length_bytes, timestamp_bytes, offset_bytes, key_length)
    return shape if shape.key_at + key_length < shape.stride else None


def _varint(body: bytes, at: int, width: int) -> int:
    """Return a number of so many bytes; -1 if it has more."""
    number = body[at] & 127
    if width == 2:
        number |= body[at + 1] << 7
    if body[at + width - 1] > 127:
        return -1
    return number >> 1 ^ -(number & 1)
