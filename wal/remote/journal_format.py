"""The objects of a journal: what is acknowledged only once it is in the object store (durability `remote`).

    <cluster id>/journal/<epoch, 10 digits>/<number, 20 digits>      a chunk, or a FENCE

    object   := "KWJ1" size u32 crc u32 header[size] payload          numbers are little-endian
    header   := JSON; crc is the CRC-32C of its bytes
    payload  := the slices one after the other: bytes of segments, as they are in their files

Numbers are dense in each epoch, from 0.  Each object is created if it is absent, so its key decides between a
writer and the one that takes over: what has come before the FENCE counts, and nothing comes after it.  **A
FENCE is never removed**: a request of the old writer that hangs may arrive at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct as Layout
from struct import error as LayoutError
from typing import Final, NamedTuple

import msgspec
from crc32c import crc32c
from msgspec import Struct

from wal.remote.formats import JournalMark, RemoteDamaged

JOURNAL: Final = "journal"
MAGIC: Final = b"KWJ1"
_START: Final = Layout("<4sII")
FENCE_BYTES_MAX: Final = 1_024
"""A FENCE is smaller than this; larger objects need not be read to know that they are none."""


class JournalSlice(Struct, frozen=True, array_like=True):
    """Bytes of a segment's file."""

    log: str
    """The log's folder in the data directory, such as `default/vnode-0`."""
    base_version: int
    salt: int
    """The segment's; another file of the same name has another one."""
    position: int
    size_bytes: int


class JournalHeader(Struct, frozen=True, kw_only=True):
    """The head of an object; a FENCE has `fenced_by` and no slices."""

    epoch: int
    number: int
    incarnation: str
    """The process that wrote it."""
    fenced_by: int = 0
    """The epoch of the process that ended this one."""
    slices: tuple[JournalSlice, ...] = ()
    logs: tuple[str, ...] = ()
    """Logs that the newest cut may not have: they exist, though there may be nothing in them."""
    payload_crc: int = 0


class JournalObject(NamedTuple):
    """An object that was read and compared with its checksums."""

    header: JournalHeader
    payload: memoryview

    @property
    def is_fence(self) -> bool:
        """Whether the epoch ends here."""
        return self.header.fenced_by > 0

    def pieces(self) -> Iterator[tuple[JournalSlice, memoryview]]:
        """Yield the slices with their bytes."""
        start = 0
        for part in self.header.slices:
            yield part, self.payload[start : start + part.size_bytes]
            start += part.size_bytes


def journal_key(prefix: str, epoch: int, number: int) -> str:
    """Return an object's key; `prefix` is the cluster id."""
    return f"{prefix}/{JOURNAL}/{epoch:010d}/{number:020d}"


def mark_of(key: str, prefix: str) -> JournalMark | None:
    """Return the place in a key, None for the key of another kind of object."""
    epoch, _, number = key.removeprefix(f"{prefix}/{JOURNAL}/").partition("/")
    if not key.startswith(f"{prefix}/{JOURNAL}/") or not epoch.isdigit() or not number.isdigit():
        return None
    return JournalMark(int(epoch), int(number))


def encode_journal(header: JournalHeader, payload: bytes = b"") -> bytes:
    """Return an object's bytes; the CRC of the payload is filled in."""
    header = msgspec.structs.replace(header, payload_crc=crc32c(payload))
    data = msgspec.json.encode(header)
    return b"".join((_START.pack(MAGIC, len(data), crc32c(data)), data, payload))


def decode_journal(data: bytes, key: str) -> JournalObject:
    """Return an object.  Raises: RemoteDamaged."""
    try:
        magic, size, crc = _START.unpack_from(data)
        header_bytes = data[_START.size : _START.size + size]
        if magic != MAGIC or len(header_bytes) != size or crc32c(header_bytes) != crc:
            raise RemoteDamaged(f"{key}: the object is damaged: it does not begin as it was written")
        header = msgspec.json.decode(header_bytes, type=JournalHeader)
    except (LayoutError, msgspec.MsgspecError) as error:
        raise RemoteDamaged(f"{key}: not an object of a journal ({error})") from error
    payload = memoryview(data)[_START.size + size :]
    expected = sum(part.size_bytes for part in header.slices)
    if len(payload) != expected or crc32c(payload) != header.payload_crc:
        raise RemoteDamaged(
            f"{key}: the object is damaged: {len(payload)} bytes of {expected}, or their checksum is wrong"
        )
    return JournalObject(header, payload)
