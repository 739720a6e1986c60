"""Record batches of format v2: the header read in one step, the CRC, and fields patched in place.

A batch is 61 bytes of header and then its records, compressed as a whole or not at all (big-endian):

     0 base offset:i64   8 batch length:i32 (of what follows)   12 leader epoch:i32   16 magic:i8 = 2
    17 crc:u32   21 attributes:i16   23 last offset delta:i32   27 base timestamp:i64   35 max timestamp:i64
    43 producer id:i64   51 producer epoch:i16   53 base sequence:i32   57 record count:i32   61 records

The CRC-32C covers byte 21 to the end: base offset, length and leader epoch may be patched without touching
it. Attributes: bits 0-2 codec, 3 append time, 4 transactional, 5 control, 6 delete horizon; the
rest is unused.

Everything here works per batch, never per record. `batch_check` says what a producer may append;
`record_reader` and `record_writer` deal with the records inside.

Source: Kafka 4.3, org.apache.kafka.common.record.internal.DefaultRecordBatch; KIP-98.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from protocol.compression import Readable
from protocol.errors import Malformed

if TYPE_CHECKING:
    import construct

Writable = bytearray | memoryview
"""The types that can be patched in place; all functions take exactly one batch, from its first byte."""

MAGIC = 2
HEADER_BYTES = 61
# Base offset and length, which the batch length does not count.
PREFIX_BYTES = 12
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1
NO_TIMESTAMP = -1

CODEC_MASK = 0x07
APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
# Set by Kafka's log cleaner on batches with tombstones; the base timestamp is then the time when they
# may go (KIP-534).
DELETE_HORIZON = 0x40
_KNOWN_ATTRIBUTES = 0x7F

HEADER = struct.Struct(">qiibIhiqqqhii")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_UINT32 = struct.Struct(">I")
LENGTH_AT = 8
_LEADER_EPOCH_AT = 12
MAGIC_AT = 16
_CRC_AT = 17
_ATTRIBUTES_AT = 21
_LAST_OFFSET_DELTA_AT = 23
_MAX_TIMESTAMP_AT = 35

_new_tuple = tuple.__new__

# The CRC of 1 MiB takes 0.05 ms; if the interpreter lock were released for it, getting it back could
# take 5 ms.
_KEEP_LOCK = 0


class BatchHeader(NamedTuple):
    """The header of one v2 batch, field by field."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """The size of the whole batch with its header."""
        return self.batch_length + PREFIX_BYTES

    @property
    def last_offset(self) -> int:
        """The offset of the last record, also if compaction or filtering removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        """The codec's number; 5 to 7 are unknown."""
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> int:
        """Kafka's number of the timestamp type: 0 CreateTime, 1 LogAppendTime."""
        return self.attributes >> 3 & 1

    @property
    def is_append_time(self) -> bool:
        """Whether the time of append (`max_timestamp`) counts for every record, not the record's own."""
        return bool(self.attributes & APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the batch holds a transaction marker, or nothing, and not a producer's records."""
        return bool(self.attributes & CONTROL)

    @property
    def is_left_behind(self) -> bool:
        """Whether it is a control batch that ends no transaction: what is left of a producer's batch."""
        return self.is_control and self.base_sequence >= 0

    @property
    def has_plausible_max_timestamp(self) -> bool:
        """False when the timestamps in the header contradict each other, so that only the records can tell.

        No known producer writes such a header. True is no proof: with several records a wrong maximum shows
        only in the records themselves (broker/storage/produce_times.py).
        """
        if self.record_count == 1 and self.max_timestamp != self.base_timestamp:
            return False
        return self.max_timestamp >= max(self.base_timestamp, NO_TIMESTAMP)


def read_batch_header(data: Readable, position: int = 0) -> BatchHeader:
    """Read the header at `position`; nothing in it is checked, not even that the batch is all there.

    Raises: Malformed when fewer than 61 bytes are left.
    """
    try:
        # BatchHeader._make itself would cost half as much again.
        return _new_tuple(BatchHeader, HEADER.unpack_from(data, position))
    except struct.error:
        raise Malformed(
            position, "batch header", f"{len(data) - position} bytes are left; it has 61"
        ) from None


def iter_batches(data: Readable) -> Iterator[memoryview]:
    """Yield each whole batch in `data` as a slice of it; leave out a cut one at the end, as clients do.

    Raises: Malformed for a batch length that cannot hold a header.
    """
    view = memoryview(data)
    position = 0
    while len(view) - position >= PREFIX_BYTES:
        length = _INT32.unpack_from(view, position + LENGTH_AT)[0]
        if length < HEADER_BYTES - PREFIX_BYTES:
            raise Malformed(position + LENGTH_AT, "batch length", f"{length}; the least is 49")
        end = position + PREFIX_BYTES + length
        if end > len(view):
            return
        yield view[position:end]
        position = end


def check_crc(data: Readable) -> bool:
    """Return whether the batch at the start of `data` is all there and has the CRC in its header."""
    header = read_batch_header(data)
    size = header.size_bytes
    return HEADER_BYTES <= size <= len(data) and header.crc == computed_crc(data, size)


def computed_crc(data: Readable, size_bytes: int) -> int:
    """Return the CRC-32C that the batch of `size_bytes` at the start of `data` should carry."""
    crc: int = crc32c(memoryview(data)[_ATTRIBUTES_AT:size_bytes], 0, _KEEP_LOCK)
    return crc


def renew_crc(batch: Writable) -> None:
    """Write the CRC that the bytes of `batch` have now into its header."""
    _UINT32.pack_into(batch, _CRC_AT, computed_crc(batch, len(batch)))


def patch_offset_and_epoch(batch: Writable, base_offset: int, leader_epoch: int) -> None:
    """Give the batch its place in a log; the CRC does not cover these fields and stays valid."""
    _INT64.pack_into(batch, 0, base_offset)
    _INT32.pack_into(batch, _LEADER_EPOCH_AT, leader_epoch)


def patch_append_time(batch: Writable, append_time_ms: int) -> None:
    """Stamp the batch with the broker's time, which then counts for every record; the CRC is renewed.

    Attribute bits without a meaning are cleared, as Kafka does when it rewrites a header.
    """
    _patch_timestamp(batch, APPEND_TIME, append_time_ms)


def patch_create_time(batch: Writable, max_timestamp_ms: int) -> None:
    """Clear the append-time bit and set the maximum timestamp; the CRC is renewed when either changes.

    Kafka does this on a CreateTime topic; `max_timestamp_ms` is the header's own unless it had
    to be corrected.
    """
    header = read_batch_header(batch)
    if header.is_append_time or header.max_timestamp != max_timestamp_ms:
        _patch_timestamp(batch, 0, max_timestamp_ms)


def _patch_timestamp(batch: Writable, kind: int, timestamp_ms: int) -> None:
    attributes = _INT16.unpack_from(batch, _ATTRIBUTES_AT)[0] & _KNOWN_ATTRIBUTES & ~APPEND_TIME
    _INT16.pack_into(batch, _ATTRIBUTES_AT, attributes | kind)
    _INT64.pack_into(batch, _MAX_TIMESTAMP_AT, timestamp_ms)
    renew_crc(batch)


def patch_last_offset(batch: Writable, last_offset: int) -> None:
    """Stretch the batch to end at `last_offset`; clients then move past what was left out after its records.

    The CRC is renewed.
    """
    header = read_batch_header(batch)
    assert last_offset >= header.last_offset, "a batch is stretched, never shrunk"
    _INT32.pack_into(batch, _LAST_OFFSET_DELTA_AT, last_offset - header.base_offset)
    renew_crc(batch)


@cache
def reference_batch_header() -> construct.Struct:
    """Return the header's declaration in construct, the reference for the struct layout above."""
    import construct

    return construct.Struct(
        "base_offset" / construct.Int64sb,
        "batch_length" / construct.Int32sb,
        "leader_epoch" / construct.Int32sb,
        "magic" / construct.Int8sb,
        "crc" / construct.Int32ub,
        "attributes" / construct.Int16sb,
        "last_offset_delta" / construct.Int32sb,
        "base_timestamp" / construct.Int64sb,
        "max_timestamp" / construct.Int64sb,
        "producer_id" / construct.Int64sb,
        "producer_epoch" / construct.Int16sb,
        "base_sequence" / construct.Int32sb,
        "record_count" / construct.Int32sb,
    )
