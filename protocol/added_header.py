"""A header that is added to each record of a batch, without decoding more of them than the lengths.

    record := length attributes timestamp-delta offset-delta key value | header count | headers
                                                                         n -> n + 1     … the new one

All else stays byte for byte, in the batch's header but for its length and CRC, too.
Source: Kafka 4.3, org.apache.kafka.common.record.internal.DefaultRecord; KIP-82 (headers).
"""

from __future__ import annotations

from collections.abc import Callable

from protocol.compression import OUTPUT_BYTES_MAX, Codec, Readable, compress
from protocol.errors import Malformed
from protocol.record_reader import open_batch, read_varint, records_in
from protocol.record_writer import VARINTS, encode_batch
from protocol.records import (
    DELETE_HORIZON,
    HEADER,
    HEADER_BYTES,
    PREFIX_BYTES,
    BatchHeader,
    read_batch_header,
    renew_crc,
)

ONE_HEADER = VARINTS[1]


def with_header(batch: Readable, name: str, value_of: Callable[[int], bytes]) -> bytearray | None:
    """Return the batch with a header in each record; `value_of` takes the record's offset delta.

    About 1.3 µs for each record, beside the codec. None: readers would refuse it, as it expands to too much.
    Headers of this name that a record has already are left out.  Raises: Malformed.
    """
    header, body = open_batch(batch, OUTPUT_BYTES_MAX)
    encoded = name.encode()
    if encoded in body:
        header, body = _without(header, body, name)
    parts = _records(header, body, VARINTS[len(encoded)] + encoded, value_of)
    if sum(map(len, parts)) > OUTPUT_BYTES_MAX:
        return None
    if header.codec != Codec.NONE:
        parts = [compress(header.codec, b"".join(parts))]
    made = bytearray().join([bytes(HEADER_BYTES), *parts])
    HEADER.pack_into(made, 0, *header._replace(batch_length=len(made) - PREFIX_BYTES))
    renew_crc(made)
    return made


def _without(header: BatchHeader, body: bytes, name: str) -> tuple[BatchHeader, bytes]:
    """Return a batch's header and records without the headers of this name.  Raises: Malformed."""
    records = [
        record._replace(headers=tuple(own for own in record.headers if own[0] != name))
        for record in records_in(header, body)
    ]
    anew = encode_batch(records, base_offset=header.base_offset, last_offset=header.last_offset)
    base_timestamp = read_batch_header(anew).base_timestamp
    attributes = header.attributes & ~DELETE_HORIZON
    return header._replace(base_timestamp=base_timestamp, attributes=attributes), bytes(anew[HEADER_BYTES:])


def _records(header: BatchHeader, body: bytes, name: bytes, value_of: Callable[[int], bytes]) -> list[bytes]:
    """Return the records in parts.  Raises: Malformed."""
    varints, size = VARINTS, len(body)
    parts: list[bytes] = []
    at = number = 0
    try:
        for number in range(header.record_count):
            length, at = read_varint(body, at)
            start, end = at, at + length
            at += 1
            while body[at] > 127:
                at += 1
            if (low := body[at + 1]) < 128:
                delta = low >> 1 ^ -(low & 1)
                at += 2
            else:
                delta, at = read_varint(body, at + 1)
            if (low := body[at]) < 128:
                at += 1 + (low >> 1 if not low & 1 else 0)
            else:
                length, at = read_varint(body, at)
                at += max(length, 0)
            if (low := body[at]) < 128:
                at += 1 + (low >> 1 if not low & 1 else 0)
            else:
                length, at = read_varint(body, at)
                at += max(length, 0)
            content = body[start:at]
            if count := body[at]:
                count, at = read_varint(body, at)
            else:
                at += 1
            if not (count >= 0 and at <= end <= size) or (not count and at != end):
                raise Malformed(at, f"record {number}", f"by its length ends at byte {end} of {size}")
            value = value_of(delta)
            added = name + varints[len(value)] + value
            added = varints[count + 1] + body[at:end] + added if count else ONE_HEADER + added
            parts += (varints[len(content) + len(added)], content, added)
            at = end
    except IndexError:
        raise Malformed(size, f"record {number}", "cut: the batch ends here") from None
    if at != size:
        raise Malformed(at, "records", f"{size - at} bytes follow the last of {header.record_count}")
    return parts
