"""Record batches made of records: for the broker's topics, markers, views, compaction, tools and tests.

Producers' batches are stored as they came; here batches are made byte for byte as Java's client
would (`record_reader` has the layout). They are returned as bytearrays, because a log patches offset
and leader epoch.

Source: Kafka 4.3, org.apache.kafka.common.record.internal: MemoryRecordsBuilder,
DefaultRecordBatch.writeHeader.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable
from typing import Final

from protocol.compression import Codec, compress
from protocol.record_reader import Headers, Record
from protocol.records import (
    APPEND_TIME,
    CONTROL,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    PREFIX_BYTES,
    TRANSACTIONAL,
    BatchHeader,
    renew_crc,
)

_MARKER_KEY: Final = struct.Struct(">hh")
_MARKER_VALUE: Final = struct.Struct(">hi")
_ABORT, _COMMIT = 0, 1
# For the attributes of a record, and as a count of headers.
_NOTHING: Final = b"\x00"
_NO_HEADERS: Final = [_NOTHING]
# The varint of -1: the length of a null.
_NULL: Final = b"\x01"
# Varints of the numbers from -8192 to 8191: 16,384 entries, 1.5 MB when all of them have occurred.
_KEPT_BYTES_MAX: Final = 2
RECORDS_PER_STEP: Final = 250
"""Records encoded between two looks at the time: about 0.5 ms."""

_NO_HEADER: Final = bytes(HEADER_BYTES)


def encode_batch(
    records: Iterable[Record],
    *,
    codec: int = Codec.NONE,
    level: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    append_time_ms: int | None = None,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """Return a batch of `records`, at least one; takes 0.8 µs per record of 100 bytes.

    The records' offsets must ascend and may have gaps. `base_offset` and `last_offset` are those of the first
    and last record unless given: a batch may begin before its first record and end after its last where
    others were left out. `append_time_ms`: the broker's time, which counts for all its records.
    """
    listed = records if isinstance(records, list) else list(records)
    first, last = listed[0], listed[-1]
    base = first.offset if base_offset is None else base_offset
    end = last.offset if last_offset is None else last_offset
    assert base <= first.offset, "a batch begins at its first record or before"
    assert last.offset <= end, "a batch ends at its last record or after"
    max_timestamp = (
        max(record.timestamp_ms for record in listed) if append_time_ms is None else append_time_ms
    )
    fields = _fields(listed, base, first.timestamp_ms)
    if codec != Codec.NONE:
        fields = [compress(codec, b"".join(fields), level)]
    batch = bytearray().join([_NO_HEADER, *fields])
    attributes = codec | transactional * TRANSACTIONAL | control * CONTROL
    HEADER.pack_into(
        batch,
        0,
        base,
        len(batch) - PREFIX_BYTES,
        leader_epoch,
        MAGIC,
        0,
        attributes if append_time_ms is None else attributes | APPEND_TIME,
        end - base,
        first.timestamp_ms,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(listed),
    )
    renew_crc(batch)
    return batch


def encode_in_steps(records: list[Record], *, leader_epoch: int) -> Generator[None, None, bytearray]:
    """Return a batch of one record or more, not compressed and of no producer; yield after some of them."""
    first, last, fields = records[0], records[-1], list[bytes]()
    for start in range(0, len(records), RECORDS_PER_STEP):
        fields += _fields(records[start : start + RECORDS_PER_STEP], first.offset, first.timestamp_ms)
        yield
    batch = bytearray().join([_NO_HEADER, *fields])
    HEADER.pack_into(
        batch,
        0,
        first.offset,
        len(batch) - PREFIX_BYTES,
        leader_epoch,
        MAGIC,
        0,
        0,
        last.offset - first.offset,
        first.timestamp_ms,
        max(record.timestamp_ms for record in records),
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        len(records),
    )
    renew_crc(batch)
    return batch


def empty_batch(
    base_offset: int,
    last_offset: int,
    *,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    max_timestamp_ms: int = NO_TIMESTAMP,
    transactional: bool = False,
) -> bytearray:
    """Return a batch without records from `base_offset` to `last_offset`, as Kafka's log cleaner leaves it.

    Clients move their position past `last_offset`; Spark and Java consumers stall where such a
    tail is missing.
    """
    assert base_offset <= last_offset, "an empty batch spans one offset at least"
    batch = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        HEADER_BYTES - PREFIX_BYTES,
        leader_epoch,
        MAGIC,
        0,
        transactional * TRANSACTIONAL,
        last_offset - base_offset,
        NO_TIMESTAMP,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        0,
    )
    renew_crc(batch)
    return batch


def left_behind_batch(header: BatchHeader) -> bytearray:
    """Return what is left of a producer's batch whose records are all repetitions, or stored elsewhere.

    It is a control batch, so that no client shows it: several empty ones in a row make librdkafka 2.16 say
    that messages are too large (rd_kafka_msgset_reader_run). Its record is a commit marker, which clients
    pass over; only the lack of a sequence would make a marker of it for a broker.
    """
    marker = Record(
        header.base_offset, header.max_timestamp, _MARKER_KEY.pack(0, _COMMIT), _MARKER_VALUE.pack(0, 0)
    )
    return encode_batch(
        [marker],
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=True,
    )


def transaction_marker_batch(
    *,
    commit: bool,
    offset: int,
    timestamp_ms: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """Return the control batch that ends a producer's transaction in one partition (KIP-98)."""
    key = _MARKER_KEY.pack(0, _COMMIT if commit else _ABORT)
    marker = Record(offset, timestamp_ms, key, _MARKER_VALUE.pack(0, coordinator_epoch))
    return encode_batch(
        [marker],
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def _fields(records: list[Record], base_offset: int, base_timestamp: int) -> list[bytes]:
    """Return the encoded fields of all records in order; they are copied once, when they are joined."""
    varints = VARINTS
    fields: list[bytes] = []
    for offset, timestamp, key, value, headers in records:
        timestamp_delta, offset_delta = varints[timestamp - base_timestamp], varints[offset - base_offset]
        key_length = _NULL if key is None else varints[len(key)]
        value_length = _NULL if value is None else varints[len(value)]
        tail = header_fields(headers) if headers else _NO_HEADERS
        content = (
            _NOTHING,
            timestamp_delta,
            offset_delta,
            key_length,
            key or b"",
            value_length,
            value or b"",
        )
        fields.append(varints[sum(map(len, content)) + sum(map(len, tail))])
        fields += content
        fields += tail
    return fields


def header_fields(headers: Headers) -> list[bytes]:
    """Return the encoded count of a record's headers, and the headers."""
    fields = [VARINTS[len(headers)]]
    for name, content in headers:
        encoded = name.encode("utf-8", "surrogateescape")
        fields += (VARINTS[len(encoded)], encoded)
        fields += (_NULL,) if content is None else (VARINTS[len(content)], content)
    return fields


class _Varints(dict[int, bytes]):
    """The zigzag varints of int32 and int64 numbers, by number; those of up to two bytes are kept."""

    def __missing__(self, number: int) -> bytes:
        rest = number << 1 ^ number >> 63
        encoded = bytearray()
        while rest > 127:
            encoded.append(rest & 127 | 128)
            rest >>= 7
        encoded.append(rest)
        made = bytes(encoded)
        if len(made) <= _KEPT_BYTES_MAX:
            self[number] = made
        return made


VARINTS: Final = _Varints()
