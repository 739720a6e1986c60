"""Values of committed offsets: what a record says, to bytes and back.

Offsets are kept in memory as the bytes of their records, and decoded on demand.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from groups.record_schemas import OffsetCommitValue
from protocol.errors import ProtocolError
from protocol.wire import decode, encode, joined

NO_EXPIRY: Final = -1
NO_LEADER_EPOCH: Final = -1

_INT16: Final = struct.Struct(">h")
_INT64: Final = struct.Struct(">q")
WITH_EXPIRY: Final = b"\0\1"
"""The first bytes of the only value version that has an expiry time of its own."""

_TEXT_AT: Final = {b"\0\0": 12, b"\0\1": 12, b"\0\2": 12, b"\0\3": 16}
"""The position of the metadata's text in a value, by its first bytes: the version."""

_AFTER_TEXT: Final = {b"\0\0": 8, b"\0\1": 16, b"\0\2": 8, b"\0\3": 8}
"""The number of bytes after that text: one time or two."""


class Committed(NamedTuple):
    """The progress of a group in one partition."""

    offset: int
    """The next record to read."""
    leader_epoch: int
    metadata: str
    commit_ms: int
    """When it was committed, in ms since 1970."""
    expire_ms: int
    """When it expires, as its client asked; NO_EXPIRY: as the broker is configured."""


def committed_bytes(committed: Committed) -> bytes:
    """Return the value of the record: v3, or v1 where an expiry time must be kept, as Kafka does."""
    version = 3 if committed.expire_ms == NO_EXPIRY else 1
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
    )
    return _INT16.pack(version) + joined(encode(value, version))


def read_committed(value: bytes) -> Committed:
    """Return the decoded value of a record.

    Raises: Malformed.
    """
    found, _ = decode(OffsetCommitValue, _INT16.unpack_from(value)[0], value, 2)
    return Committed(
        found.offset, found.leader_epoch, found.metadata, found.commit_timestamp, found.expire_timestamp
    )


def offset_of(value: bytes) -> int:
    """Return the offset in the value of a record, which comes first in every version."""
    return int(_INT64.unpack_from(value, 2)[0])


def unreadable(value: bytes) -> str | None:
    """Return why the value of a record cannot be read, None if it can.

    What the usual versions hold is checked by hand, in a fraction of the codec's time: a start looks at a
    million of them.
    """
    text_at = _TEXT_AT.get(value[:2])
    if text_at is not None and len(value) >= text_at:
        text_end = text_at + int.from_bytes(value[text_at - 2 : text_at], "big", signed=True)
        after = len(value) - text_end
        if text_at <= text_end and after == _AFTER_TEXT[value[:2]] and value[text_at:text_end].isascii():
            return None
    try:
        read_committed(value)
    except (struct.error, ProtocolError) as error:
        return str(error)
    return None
