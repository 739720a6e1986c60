"""Batches made of columns of records, for programs that send very many: the command line's input.

The same bytes as `record_writer.encode_batch` makes of the same records, in a third of its time for
thousands of records; for a few, `record_writer` is the quicker.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Final

from protocol.compression import Codec, compress
from protocol.record_columns import RecordColumns
from protocol.record_reader import Headers
from protocol.record_writer import VARINTS, header_fields
from protocol.records import (
    HEADER,
    HEADER_BYTES,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    PREFIX_BYTES,
    renew_crc,
)

_NO_HEADER: Final = bytes(HEADER_BYTES)
_NOTHING: Final = b"\x00"
"""For the attributes of a record, for a delta of 0, and as a count of headers."""
_NULL: Final = b"\x01"
"""The varint of -1: the length of a null."""


def encode_columns(
    columns: RecordColumns,
    *,
    codec: int = Codec.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
) -> bytearray:
    """Return a batch of records, at least one, whose offsets ascend; 0.2 µs per record of 100 bytes."""
    offsets, timestamps = columns.offsets, columns.timestamps
    fields = _fields(columns)
    if codec != Codec.NONE:
        fields = [compress(codec, b"".join(fields), None)]
    batch = bytearray().join([_NO_HEADER, *fields])
    HEADER.pack_into(
        batch,
        0,
        offsets[0],
        len(batch) - PREFIX_BYTES,
        NO_LEADER_EPOCH,
        MAGIC,
        0,
        codec,
        offsets[-1] - offsets[0],
        timestamps[0],
        max(timestamps),
        producer_id,
        producer_epoch,
        base_sequence,
        len(columns),
    )
    renew_crc(batch)
    return batch


def _fields(columns: RecordColumns) -> list[bytes]:
    """Return length and content of each record, one after the other."""
    varints = VARINTS
    base, since = columns.offsets[0], columns.timestamps[0]
    contents = list(
        map(
            b"".join,
            zip(
                repeat(_NOTHING),
                _deltas(columns.timestamps, since),
                [varints[offset - base] for offset in columns.offsets],
                *_data(columns.keys),
                *_data(columns.values),
                _headers(columns.headers),
                strict=False,
            ),
        )
    )
    fields = [b""] * (2 * len(contents))
    fields[::2] = [varints[len(content)] for content in contents]
    fields[1::2] = contents
    return fields


def _deltas(timestamps: list[int], since: int) -> Iterable[bytes]:
    if timestamps.count(since) == len(timestamps):
        return repeat(_NOTHING)
    return [VARINTS[timestamp - since] for timestamp in timestamps]


def _data(column: list[bytes | None]) -> tuple[Iterable[bytes], Iterable[bytes]]:
    """Return the lengths of keys or values, and their bytes."""
    nulls = column.count(None)
    if nulls == len(column):
        return repeat(_NULL), repeat(b"")
    if nulls:
        lengths = [_NULL if data is None else VARINTS[len(data)] for data in column]
        return lengths, [data or b"" for data in column]
    return [VARINTS[len(data)] for data in column], column  # type: ignore[arg-type, return-value]  # no nulls


def _headers(column: list[Headers] | None) -> Iterable[bytes]:
    if column is None:
        return repeat(_NOTHING)
    return [b"".join(header_fields(headers)) if headers else _NOTHING for headers in column]
