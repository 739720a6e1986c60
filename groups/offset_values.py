"""Values of committed offsets: what a record says, to bytes and back.

    value := version:i16 offset:i64 leader_epoch:i32 length:u8 metadata commit_ms:i64 tags      version 4
    tags  := 1 0 16 topic_id[16]                                                                as written

Offsets are kept in memory as the bytes of their records, and decoded on demand.  The form above is written
and read by hand, in a fraction of the codec's time: each commit makes one, and a start looks at a million.
All others are left to the codec: older versions, long metadata, an expiry time.

The id says of which topic an offset is.  Many offsets are deleted some at a time, and a new topic of the same
name may be there before the last one: after a crash only the id tells whose it is.  Kafka writes the id as
well, but for offsets of transactions and for those with an expiry time; those that it, or an earlier version
of this server, wrote without an id are taken to be of the present topic.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple
from uuid import UUID

from groups.record_schemas import OffsetCommitValue
from protocol.errors import ProtocolError
from protocol.wire import ZERO_UUID, decode, encode, joined

NO_EXPIRY: Final = -1
NO_LEADER_EPOCH: Final = -1

_VERSION: Final = 4
_VERSION_BYTES: Final = b"\0\4"
_HEAD: Final = struct.Struct(">hqiB")
_TAIL: Final = struct.Struct(">q3s16s")
_INT16: Final = struct.Struct(">h")
_INT64: Final = struct.Struct(">q")

_ONE_TAG: Final = b"\1\0\x10"
"""The beginning of tags that are nothing but an id: how many, the tag, the size."""

_NO_ID: Final = ZERO_UUID.bytes
_LENGTH_AT: Final = _HEAD.size - 1
_SHORT_MAX: Final = 126
"""The longest metadata whose length takes one byte.  It is written as one more than it is."""

_PLAIN_BYTES: Final = _HEAD.size - 1 + _TAIL.size
"""The size of a value without metadata, but for the one more that is written."""

_EXPIRY_TAG: Final = b"\x90\x4e\x08"
"""Tag 10,000 and the size of an expiry time, which ends the values that have one."""

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


def committed_bytes(committed: Committed, topic_id: UUID) -> bytes:
    """Return the value of the record, in version 4."""
    text = committed.metadata.encode()
    if len(text) <= _SHORT_MAX and committed.expire_ms == NO_EXPIRY and topic_id.int:
        head = _HEAD.pack(_VERSION, committed.offset, committed.leader_epoch, len(text) + 1)
        return head + text + _TAIL.pack(committed.commit_ms, _ONE_TAG, topic_id.bytes)
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        topic_id=topic_id,
        expires=committed.expire_ms,
    )
    return _VERSION_BYTES + joined(encode(value, _VERSION))


def id_if_plain(value: bytes) -> bytes:
    """Return the topic's id in a value that can be read and is of the form above; else nothing.

    Metadata of other characters than those of ASCII are left to the codec, too.
    """
    size = len(value)
    if (
        _PLAIN_BYTES < size == _PLAIN_BYTES + value[_LENGTH_AT] <= _PLAIN_BYTES + _SHORT_MAX + 1
        and value[:2] == _VERSION_BYTES
        and value[-19:-16] == _ONE_TAG
        and value[_LENGTH_AT + 1 : -_TAIL.size].isascii()
    ):
        return value[-16:]
    return b""


def read_committed(value: bytes) -> Committed:
    """Return the decoded value of a record.

    Raises: Malformed.
    """
    if id_if_plain(value):
        _, offset, leader_epoch, _ = _HEAD.unpack_from(value)
        commit_ms: int = _INT64.unpack_from(value, len(value) - _TAIL.size)[0]
        metadata = value[_LENGTH_AT + 1 : -_TAIL.size].decode()
        return Committed(offset, leader_epoch, metadata, commit_ms, NO_EXPIRY)
    found, _ = decode(OffsetCommitValue, _INT16.unpack_from(value)[0], value, 2)
    expire_ms = found.expire_timestamp if found.expires == NO_EXPIRY else found.expires
    return Committed(found.offset, found.leader_epoch, found.metadata, found.commit_timestamp, expire_ms)


def offset_of(value: bytes) -> int:
    """Return the offset in the value of a record, which comes first in every version."""
    return int(_INT64.unpack_from(value, 2)[0])


def may_expire(value: bytes) -> bool:
    """Whether an offset may have an expiry time of its own, as all of version 1; each that has one may."""
    return value[1:2] == b"\1" or value[-11:-8] == _EXPIRY_TAG


def is_of_another(value: bytes, topic_id: UUID) -> bool:
    """Whether an offset is of another topic than that of this id; without an id it is not."""
    found = id_if_plain(value)
    if not found and value[:2] not in _TEXT_AT:
        found = decode(OffsetCommitValue, _INT16.unpack_from(value)[0], value, 2)[0].topic_id.bytes
    return found not in (topic_id.bytes, _NO_ID, b"")


def unreadable(value: bytes) -> str | None:
    """Return why the value of a record cannot be read, None if it can."""
    if id_if_plain(value):
        return None
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
