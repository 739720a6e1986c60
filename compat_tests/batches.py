"""Record batches made field by field, right or wrong on purpose; independent of the gateway's own code.

Format v2 as Kafka's documentation has it: integers are big-endian, the fields of records zigzag varints.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from crc32c import crc32c

from compat_tests.times import START_MS

CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One batch; None stands for the right value."""

    values: Sequence[bytes] = (b"v",)
    base_offset: int = 0
    leader_epoch: int = -1
    magic: int = 2
    attributes: int = 0
    last_offset_delta: int | None = None
    base_timestamp: int = START_MS
    max_timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    count: int | None = None
    crc: int | None = None
    timestamp_deltas: Sequence[int] = field(default=())
    payload: bytes | None = None

    def but(self, **changes: object) -> Batch:
        """Return a copy with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def encode(self) -> bytes:
        """Return the bytes."""
        count = len(self.values) if self.count is None else self.count
        deltas = self.timestamp_deltas or [0] * len(self.values)
        newest = self.base_timestamp + max(deltas, default=0)
        records = b"".join(_record(i, deltas[i], value) for i, value in enumerate(self.values))
        after_crc = struct.pack(
            ">hiqqqhii",
            self.attributes,
            len(self.values) - 1 if self.last_offset_delta is None else self.last_offset_delta,
            self.base_timestamp,
            newest if self.max_timestamp is None else self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            count,
        ) + (records if self.payload is None else self.payload)
        crc = crc32c(after_crc) if self.crc is None else self.crc
        rest = struct.pack(">ibI", self.leader_epoch, self.magic, crc) + after_crc
        return struct.pack(">qi", self.base_offset, len(rest)) + rest


def old_message(magic: int, time_ms: int = START_MS) -> bytes:
    """Return a message of format v0 or v1, as clients before Kafka 0.11 wrote them."""
    import zlib

    timestamp = struct.pack(">q", time_ms) if magic else b""
    body = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">i", -1) + struct.pack(">i", 1) + b"v"
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


@dataclass(frozen=True)
class Stored:
    """One batch as a broker gave it back."""

    base_offset: int
    leader_epoch: int
    attributes: int
    last_offset: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    crc_is_right: bool
    data: bytes

    @property
    def codec(self) -> int:
        """0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."""
        return self.attributes & 7


def stored_batches(data: bytes | memoryview) -> list[Stored]:
    """Cut fetched bytes into batches; a cut one at the end is left out, as clients do."""
    found: list[Stored] = []
    data = bytes(data)
    position = 0
    while position + 61 <= len(data):
        base_offset, length, epoch, _, crc, attributes, delta, base_ms, max_ms, producer_id = (
            struct.unpack_from(">qiibIhiqqq", data, position)
        )
        whole = data[position : position + 12 + length]
        if len(whole) < 12 + length:
            break
        right = crc32c(whole[21:]) == crc
        last = base_offset + delta
        found.append(Stored(base_offset, epoch, attributes, last, base_ms, max_ms, producer_id, right, whole))
        position += len(whole)
    return found


def _record(offset_delta: int, timestamp_delta: int, value: bytes) -> bytes:
    body = b"\x00" + varint(timestamp_delta) + varint(offset_delta) + varint(-1)
    body += varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def varint(number: int) -> bytes:
    """Return a zigzag varint."""
    unsigned = (number << 1) ^ (number >> 63)
    out = bytearray()
    while unsigned > 0x7F:
        out.append(unsigned & 0x7F | 0x80)
        unsigned >>= 7
    out.append(unsigned)
    return bytes(out)
