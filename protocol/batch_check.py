"""The checks of a batch that a producer appends: per batch, never per record.

Kafka walks and decompresses every record on the way in; here that would cost more than the rest of Produce.
So the header is trusted about its records as long as it does not contradict itself:

    fewer, more or malformed records    accepted, readers get an error      Kafka: INVALID_RECORD
    records that do not decompress      accepted, readers get an error      Kafka: UNKNOWN_SERVER_ERROR
    a wrong max_timestamp               corrected where the header shows    Kafka: corrected always
    an unknown codec                    UNSUPPORTED_COMPRESSION_TYPE        Kafka: UNKNOWN_SERVER_ERROR

On UNKNOWN_SERVER_ERROR Java's idempotent producer writes duplicates (KAFKA-14034), so it is never answered.

Source: Kafka 4.3, ByteBufferLogInputStream, ProduceRequest.validateRecords, LogValidator.validateBatch and
UnifiedLog.analyzeAndValidateRecords; the order of the checks and the codes were seen on the wire of 4.3.1.
"""

from __future__ import annotations

import struct

from protocol.compression import Codec, Readable
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.records import (
    CODEC_MASK,
    CONTROL,
    HEADER,
    HEADER_BYTES,
    LENGTH_AT,
    MAGIC,
    MAGIC_AT,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    PREFIX_BYTES,
    BatchHeader,
    computed_crc,
)

# Length, attributes, timestamp and offset delta, key and value length, header count: one byte each.
RECORD_BYTES_MIN = 7
# The most bytes that one compressed byte can stand for, rounded up: deflate reaches 1032, a snappy copy of 64
# bytes takes 3, an lz4 length byte stands for 255, and a zstd block of 4 bytes for 128 KiB.
EXPANSION_MAX = {Codec.NONE: 1, Codec.GZIP: 1_032, Codec.SNAPPY: 22, Codec.LZ4: 255, Codec.ZSTD: 1 << 15}
# The first version of Produce whose clients know zstd.
ZSTD_SINCE_VERSION = 7
# The least length that Kafka accepts: that of a v0 message.
_LENGTH_MIN = 14
_EXPANSION_MAX = tuple(EXPANSION_MAX[codec] for codec in sorted(Codec))
_INT32 = struct.Struct(">i")
_new_tuple = tuple.__new__


class BatchRefused(ProtocolError):
    """A batch that a producer may not append; `error_code` is Kafka's answer for its partition."""

    error_code: ErrorCode


class CorruptBatch(BatchRefused):
    """Bytes that are not what the producer meant to send: CORRUPT_MESSAGE."""

    error_code = ErrorCode.CORRUPT_MESSAGE


class BatchTooLarge(BatchRefused):
    """A batch above the topic's max.message.bytes: MESSAGE_TOO_LARGE."""

    error_code = ErrorCode.MESSAGE_TOO_LARGE


class TimestampOutOfRange(BatchRefused):
    """A timestamp further from the broker's clock than the topic allows: INVALID_TIMESTAMP."""

    error_code = ErrorCode.INVALID_TIMESTAMP


class UnsupportedCodec(BatchRefused):
    """A codec that is unknown or too new for this Produce version: UNSUPPORTED_COMPRESSION_TYPE."""

    error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class InvalidBatch(BatchRefused):
    """Well-formed bytes that no producer may write: INVALID_RECORD."""

    error_code = ErrorCode.INVALID_RECORD


def check_batch(data: Readable, *, size_limit_bytes: int, zstd_allowed: bool = True) -> BatchHeader:
    """Accept the batch at the start of `data` as Kafka 4.3 accepts one from a producer, in the same order.

    `data` is what Produce carries for one partition. The batch ends after `header.size_bytes`; ignore a cut
    batch or stray bytes that follow. Records are neither decompressed nor walked.

    Raises: CorruptBatch, BatchTooLarge, UnsupportedCodec, InvalidBatch.
    """
    size = len(data)
    if size >= HEADER_BYTES:
        header = _new_tuple(BatchHeader, HEADER.unpack_from(data))
        base_offset, length, _, magic, crc, attributes, last_delta, _, _, producer_id, _, sequence, count = (
            header
        )
        if (
            length + PREFIX_BYTES == size <= size_limit_bytes
            and magic == MAGIC
            and not base_offset
            and not attributes & (CODEC_MASK | CONTROL)
            and 0 < count == last_delta + 1
            and count * RECORD_BYTES_MIN <= size - HEADER_BYTES
            and (sequence >= 0 or producer_id <= NO_PRODUCER_ID)
            and crc == computed_crc(data, size)
        ):
            return header  # nearly every one that is not compressed: what follows takes twice as long
    header = check_shape(data, zstd_allowed=zstd_allowed)
    size = header.batch_length + PREFIX_BYTES
    if header.base_offset != 0:
        raise InvalidBatch(f"base offset is {header.base_offset}; a producer sends 0")
    if size > size_limit_bytes:
        raise BatchTooLarge(f"batch of {size} bytes; the topic's max.message.bytes is {size_limit_bytes}")
    crc = computed_crc(data, size)
    if crc != header.crc:
        raise CorruptBatch(f"batch has CRC {header.crc:#010x}; its bytes have {crc:#010x}")
    if header.attributes & CODEC_MASK > Codec.ZSTD:
        raise UnsupportedCodec(f"codec {header.attributes & CODEC_MASK} is unknown; 0 to 4 are known")
    _check_content(header)
    return header


def check_shape(data: Readable, *, zstd_allowed: bool = True) -> BatchHeader:
    """Accept what can be one batch of a producer; these checks come before the partition is looked for.

    Raises: CorruptBatch, UnsupportedCodec, InvalidBatch.
    Source: ProduceRequest.validateRecords.
    """
    length = len(data)
    if length < HEADER_BYTES:
        raise _not_a_batch(data)
    # BatchHeader._make itself would cost half as much again.
    header = _new_tuple(BatchHeader, HEADER.unpack_from(data))
    size = header.batch_length + PREFIX_BYTES
    if header.magic != MAGIC or not HEADER_BYTES <= size <= length:
        raise _not_a_batch(data)
    codec = header.attributes & CODEC_MASK
    if codec == Codec.ZSTD and not zstd_allowed:
        raise UnsupportedCodec("zstd needs Produce version 7 or newer; this request is older")
    if size < length and _whole_entry_size(memoryview(data)[size:]):
        raise InvalidBatch("more than one batch for a partition")
    return header


def _check_content(header: BatchHeader) -> None:
    """Check what the header says of the records; the CRC has proved that the producer said so."""
    count, attributes = header.record_count, header.attributes
    room, codec = header.batch_length + PREFIX_BYTES - HEADER_BYTES, attributes & CODEC_MASK
    if count <= 0 or header.last_offset_delta != count - 1:
        raise InvalidBatch(f"{count} records with a last offset delta of {header.last_offset_delta}")
    if count * RECORD_BYTES_MIN > room * _EXPANSION_MAX[codec]:
        raise InvalidBatch(f"{count} records declared in {room} bytes of codec {codec}")
    if attributes & CONTROL:
        raise InvalidBatch("control batches are written by the broker only")
    if header.producer_id > NO_PRODUCER_ID and header.base_sequence < 0:
        raise InvalidBatch(f"producer id {header.producer_id} with base sequence {header.base_sequence}")


def _not_a_batch(data: Readable) -> BatchRefused:
    """Say what is wrong with bytes that do not begin with one whole batch of magic 2."""
    try:
        size = _whole_entry_size(data)
    except CorruptBatch as refused:
        return refused
    if not size:
        return InvalidBatch(f"no whole batch in {len(data)} bytes")
    magic = data[MAGIC_AT]
    if magic != MAGIC:
        return InvalidBatch(f"magic {magic} (message format v{magic}) is not accepted; 2 is")
    return CorruptBatch(f"batch of {size} bytes; its header alone has {HEADER_BYTES}")


def _whole_entry_size(data: Readable) -> int:
    """Return the size of the batch or older message at the start of `data`, or 0 when it is not all there.

    Raises: CorruptBatch for an impossible length or magic.
    """
    if len(data) < PREFIX_BYTES:
        return 0
    length: int = _INT32.unpack_from(data, LENGTH_AT)[0]
    if length < _LENGTH_MIN:
        raise CorruptBatch(f"batch length is {length}; the least is {HEADER_BYTES - PREFIX_BYTES}")
    if len(data) <= MAGIC_AT:
        return 0
    if data[MAGIC_AT] > MAGIC:
        raise CorruptBatch(f"magic is {data[MAGIC_AT]}; only 2 is accepted")
    size = length + PREFIX_BYTES
    return size if size <= len(data) else 0


def check_timestamps(header: BatchHeader, *, now_ms: int, before_max_ms: int, after_max_ms: int) -> None:
    """Accept a batch for a CreateTime topic with these message.timestamp.before.max.ms and .after.max.ms.

    Only the first and the greatest timestamp are checked; a record older than the first of its batch passes.

    Raises: TimestampOutOfRange.
    """
    for timestamp in (header.base_timestamp, header.max_timestamp):
        if timestamp != NO_TIMESTAMP and not -after_max_ms <= now_ms - timestamp <= before_max_ms:
            raise TimestampOutOfRange(
                f"timestamp {timestamp} is more than {before_max_ms} ms before or {after_max_ms} ms after "
                f"the broker's time {now_ms}"
            )
