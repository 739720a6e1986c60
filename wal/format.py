"""The bytes of the log: every structure once, as grammar, as struct codec and as construct declaration.

    segment := header[64] zeros header[64] zeros frame*       the copy lies at 512, the first frame at 1,024
               file <first version, 20 digits>.wal, preallocated, so zeros end a scan
    frame   := header[64] table[table_bytes] payload[payload_bytes]             one frame = one group commit
    kinds   :  data    table = entries, in payload order; payload = client batches, grouped by stream
               pad     payload = zeros up to a 4 KiB boundary
               seal    payload = zeros: the frame fills its 4 KiB block and only carries durable_sequence
               footer  table = totals of the segment; nothing follows
               lost    entry_count = number of frames that a repair gave up; payload = zeros where they were

Our own fields are little endian; client batches stay big endian as on the wire. The checksums:

    header crc   crc32c of the header before it, seeded with the segment's salt: bytes of another file, or
                 of an older file of this name, never pass for a frame of this one
    table crc    crc32c of the table, seeded with salt and sequence; it lies in the header
    batch crc    the client's own, checked on arrival: covers a batch from its attributes on. The bytes before
                 (offset, length, epoch, magic, crc) are repeated in the table entry. So every byte is covered
                 once, and arriving bytes are read once.
    meta crc     crc32c of the whole payload of a meta entry, in the place of the batch crc

`version_delta` restores arrival order: payload is grouped by stream, versions count in order of arrival.
Versions are vnode-wide, one per record and one per meta entry.  Source: docs/wal-format.md.
"""

from __future__ import annotations

import struct
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from crc32c import crc32c

if TYPE_CHECKING:
    from construct import Construct

if sys.byteorder != "little":  # .idx and checkpoint columns are arrays in memory order
    raise ImportError("the log format is little endian; this machine is not")

FORMAT = 2
"""The format of new segments; 2 may hold compaction's copies, which a reader of 1 would misunderstand."""

READABLE_FORMATS = (1, 2)
SEGMENT_MAGIC = b"KAWALSEG"
FRAME_MAGIC = b"\xf7KWF"
HEADER_BYTES = 64
"""The size of a segment header and of a frame header."""

HEADER_COPY_POSITION = 512
"""The position of a segment's second header: another sector, as no frame can be checked without the salt."""

FIRST_FRAME_POSITION = 1024
"""The position at which a segment's frames begin."""

SEAL_BLOCK_BYTES = 4096
"""A seal has such a block to itself: a destroyed sector cannot hit a frame and its seal together."""

BATCH_CRC_START = 21
"""A v2 batch's CRC covers its bytes from here on.  Source: KIP-98, record batch v2."""


class FrameKind(IntEnum):
    """The kind of a frame; see the module's grammar."""

    DATA = 1
    SEAL = 2
    PAD = 3
    FOOTER = 4
    LOST = 5


class EntryKind(IntEnum):
    """The kind of an entry in a data frame."""

    DATA = 0
    """A client's record batch."""
    CONTROL = 1
    """A record batch of transaction markers."""
    META = 2
    """No records: `MetaKind` and its body; it has a version and no offset."""
    COPY = 3
    """A batch that compaction kept, at its old offset, in a stream of copies; it takes one version."""


class MetaKind(IntEnum):
    """The first byte of a meta entry's payload."""

    OPAQUE = 0
    """The caller's bytes, opaque to the engine."""
    LOG_START = 1
    """i64 the stream's new log start, u64 bytes that now lie before it."""
    DROP = 2
    """Nothing: the stream was dropped."""
    LEADER_EPOCH = 3
    """i32 epoch, i64 offset from which it counts."""
    RETIRED = 4
    """u64 base version of a segment that no stream needs any more."""
    COMPACTED = 5
    """i64 offset below which the copies count, u64 stream of the copies, u64 bytes that they replace."""
    NAMED = 6
    MARK = 7
    """States of named producers, the ordinal of a batch: see `wal.named_producers` and `wal.ledgers`."""


COPIES_BIT = 1 << 63
"""The bit that is set in the ids of streams of copies, never in a caller's."""


class SegmentHeader(NamedTuple):
    """A segment's description of itself, at its beginning and once more."""

    vnode_id: int
    base_version: int
    base_sequence: int
    salt: int
    previous_crc: int
    """The header CRC of the previous segment's last frame, 0 in the first: it proves that none is missing."""
    created_ms: int
    format: int = FORMAT


class FrameHeader(NamedTuple):
    """The first 64 bytes of a frame, without magic and crc."""

    kind: int
    sequence: int
    durable_sequence: int
    """All frames below this sequence were synced when this one was written."""
    base_version: int
    entry_count: int
    record_count: int
    """The number of versions that this frame takes."""
    table_bytes: int
    payload_bytes: int
    ingest_ms: int
    table_crc: int

    @property
    def size_bytes(self) -> int:
        """The number of bytes from this header to the next frame's."""
        return HEADER_BYTES + self.table_bytes + self.payload_bytes


class Entry(NamedTuple):
    """One batch, or one meta entry, of a data frame."""

    stream_id: int
    kind: int
    flags: int
    leader_epoch: int
    base_offset: int
    record_count: int
    """Offsets that the batch takes, its last offset delta + 1; a meta entry takes one version, no offset."""
    size_bytes: int
    max_timestamp: int
    crc: int
    version_delta: int


class Footer(NamedTuple):
    """The totals of a sealed segment."""

    frame_count: int
    """The number of frames before the footer."""
    entry_count: int
    record_count: int
    payload_bytes: int
    max_timestamp: int
    next_version: int
    chain_crc: int
    """crc32c over the headers of all frames before: a header covers its table, a table covers its batches."""


class BatchPrefix(NamedTuple):
    """The fixed head of a v2 record batch.  Source: KIP-98."""

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


# magic, format, vnode, base version, base sequence, salt, previous crc, created, zeros | crc
SEGMENT_BODY = struct.Struct("<8sHxxIQQQIQ8x")
# magic, kind, sequence, durable, base version, entries, records, table, payload, ingest, table crc | crc
FRAME_BODY = struct.Struct("<4sBxxxQQQIIIIQI")
CRC = struct.Struct("<I")
ENTRY = struct.Struct("<QBBxxiqIIqII")
FOOTER = struct.Struct("<QQQQqQI12x")
BATCH_PREFIX = struct.Struct(">qiibIhiqqqhii")
BATCH_HEAD = struct.Struct(">qiibI")
BASE_OFFSET = struct.Struct(">q")
LEADER_EPOCH = struct.Struct(">i")
LEADER_EPOCH_POSITION = 12
PRODUCER_ID = struct.Struct(">q")
PRODUCER_ID_POSITION = 43
LOG_START_META = struct.Struct("<BqQ")
LEADER_EPOCH_META = struct.Struct("<Biq")
RETIRED_META = struct.Struct("<BQ")
COMPACTED_META = struct.Struct("<BqQQ")
SALT = struct.Struct("<Q")

assert SEGMENT_BODY.size + CRC.size == HEADER_BYTES
assert FRAME_BODY.size + CRC.size == HEADER_BYTES
ENTRY_BYTES = ENTRY.size
FOOTER_FRAME_BYTES = HEADER_BYTES + FOOTER.size


def seed_of(salt: int) -> int:
    """Return the start value of a segment's CRCs."""
    return int(crc32c(SALT.pack(salt)))


def table_seed(seed: int, sequence: int) -> int:
    """Return the start value of one frame's table CRC."""
    return (seed ^ sequence) & 0xFFFFFFFF


def encode_segment_header(header: SegmentHeader) -> bytes:
    """Return the 64 bytes of a segment header."""
    body = SEGMENT_BODY.pack(SEGMENT_MAGIC, header.format, *header[:-1])
    return body + CRC.pack(crc32c(body))


def encode_segment_start(header: SegmentHeader) -> bytes:
    """Return the bytes of a segment before its first frame: the header, twice."""
    data = encode_segment_header(header)
    start = data.ljust(HEADER_COPY_POSITION, b"\0") + data
    return start.ljust(FIRST_FRAME_POSITION, b"\0")


def decode_segment_start(data: bytes) -> tuple[SegmentHeader | None, bool]:
    """Return the header at a segment's start, and whether both copies of it are valid and equal."""
    first = decode_segment_header(data[:HEADER_BYTES])
    second = decode_segment_header(data[HEADER_COPY_POSITION : HEADER_COPY_POSITION + HEADER_BYTES])
    return first or second, first == second


def decode_segment_header(data: bytes | memoryview) -> SegmentHeader | None:
    """Return the header in the first 64 bytes, or None when they are not a valid one of a readable format."""
    if len(data) < HEADER_BYTES:
        return None
    (crc,) = CRC.unpack_from(data, SEGMENT_BODY.size)
    magic, version, *fields = SEGMENT_BODY.unpack_from(data)
    if magic != SEGMENT_MAGIC or version not in READABLE_FORMATS or crc32c(data[: SEGMENT_BODY.size]) != crc:
        return None
    return SegmentHeader._make((*fields, version))


def unknown_format(data: bytes) -> int | None:
    """Return the format of a segment with a valid header but an unreadable format; None for any other."""
    for position in (0, HEADER_COPY_POSITION):
        copy = data[position : position + HEADER_BYTES]
        if len(copy) < HEADER_BYTES:
            continue
        magic, version, *_ = SEGMENT_BODY.unpack_from(copy)
        is_whole = magic == SEGMENT_MAGIC and CRC.unpack_from(copy, SEGMENT_BODY.size) == (
            crc32c(copy[: SEGMENT_BODY.size]),
        )
        if is_whole and version not in READABLE_FORMATS:
            return int(version)
    return None


def encode_frame_header(header: FrameHeader, seed: int) -> tuple[bytes, int]:
    """Return the 64 bytes of a frame header, and their CRC."""
    body = FRAME_BODY.pack(FRAME_MAGIC, *header)
    crc = crc32c(body, seed)
    return body + CRC.pack(crc), crc


def decode_frame_header(data: bytes | memoryview, position: int, seed: int) -> tuple[FrameHeader, int] | None:
    """Return the frame header at `position` and its CRC; None unless a valid one of this segment is there."""
    if len(data) - position < HEADER_BYTES or data[position : position + 4] != FRAME_MAGIC:
        return None
    end = position + FRAME_BODY.size
    (crc,) = CRC.unpack_from(data, end)
    if crc32c(data[position:end], seed) != crc:
        return None
    return FrameHeader._make(FRAME_BODY.unpack_from(data, position)[1:]), crc


def encode_frame(
    header: FrameHeader, table: bytes, seed: int, *, padding_bytes: int = 0
) -> tuple[bytes, int]:
    """Return a frame without batches: header, `table` and zeros; sizes and table CRC are filled in here."""
    full = header._replace(
        table_bytes=len(table),
        payload_bytes=padding_bytes,
        table_crc=crc32c(table, table_seed(seed, header.sequence)),
    )
    head, crc = encode_frame_header(full, seed)
    return head + table + bytes(padding_bytes), crc


def empty_batch(offset_count: int) -> bytearray:
    """Return a v2 batch without records that takes `offset_count` offsets, as compaction leaves them."""
    body = (0, offset_count - 1, -1, -1, -1, -1, -1, 0)
    batch = bytearray(BATCH_PREFIX.pack(0, BATCH_PREFIX.size - 12, 0, 2, 0, *body))
    crc = crc32c(memoryview(batch)[BATCH_CRC_START:])
    return bytearray(BATCH_PREFIX.pack(0, BATCH_PREFIX.size - 12, 0, 2, crc, *body))


def plain_header(
    kind: FrameKind, *, sequence: int, durable_sequence: int, version: int, now_ms: int
) -> FrameHeader:
    """Return the header of a frame that takes no versions, with sizes and CRC still open."""
    return FrameHeader(kind, sequence, durable_sequence, version, 0, 0, 0, 0, now_ms, 0)


def reference_codecs() -> dict[str, Construct[Any, Any]]:
    """Return the same structures as construct declarations: the readable reference, kept equal by a test.

    construct is imported here because the server never needs it and it would cost start-up time.
    """
    import construct as c

    return _header_codecs(c) | {
        "entry": c.Struct(
            "stream_id" / c.Int64ul,
            "kind" / c.Int8ul,
            "flags" / c.Int8ul,
            c.Padding(2),
            "leader_epoch" / c.Int32sl,
            "base_offset" / c.Int64sl,
            "record_count" / c.Int32ul,
            "size_bytes" / c.Int32ul,
            "max_timestamp" / c.Int64sl,
            "crc" / c.Int32ul,
            "version_delta" / c.Int32ul,
        ),
        "footer": c.Struct(
            "frame_count" / c.Int64ul,
            "entry_count" / c.Int64ul,
            "record_count" / c.Int64ul,
            "payload_bytes" / c.Int64ul,
            "max_timestamp" / c.Int64sl,
            "next_version" / c.Int64ul,
            "chain_crc" / c.Int32ul,
            c.Padding(12),
        ),
        "batch_prefix": c.Struct(
            "base_offset" / c.Int64sb,
            "batch_length" / c.Int32sb,
            "leader_epoch" / c.Int32sb,
            "magic" / c.Int8sb,
            "crc" / c.Int32ub,
            "attributes" / c.Int16sb,
            "last_offset_delta" / c.Int32sb,
            "base_timestamp" / c.Int64sb,
            "max_timestamp" / c.Int64sb,
            "producer_id" / c.Int64sb,
            "producer_epoch" / c.Int16sb,
            "base_sequence" / c.Int32sb,
            "record_count" / c.Int32sb,
        ),
    }


def _header_codecs(c: Any) -> dict[str, Construct[Any, Any]]:
    return {
        "segment_header": c.Struct(
            "magic" / c.Const(SEGMENT_MAGIC),
            "format" / c.Int16ul,
            c.Padding(2),
            "vnode_id" / c.Int32ul,
            "base_version" / c.Int64ul,
            "base_sequence" / c.Int64ul,
            "salt" / c.Int64ul,
            "previous_crc" / c.Int32ul,
            "created_ms" / c.Int64ul,
            c.Padding(8),
            "crc" / c.Int32ul,
        ),
        "frame_header": c.Struct(
            "magic" / c.Const(FRAME_MAGIC),
            "kind" / c.Int8ul,
            c.Padding(3),
            "sequence" / c.Int64ul,
            "durable_sequence" / c.Int64ul,
            "base_version" / c.Int64ul,
            "entry_count" / c.Int32ul,
            "record_count" / c.Int32ul,
            "table_bytes" / c.Int32ul,
            "payload_bytes" / c.Int32ul,
            "ingest_ms" / c.Int64ul,
            "table_crc" / c.Int32ul,
            "crc" / c.Int32ul,
        ),
    }
