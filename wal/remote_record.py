"""The durable record of a segment that left the disk: which object of the store holds its bytes.

    <base version>.remote := head key crc[4]
    head := magic[8] format u16 key bytes u16 object crc u32 base version u64 salt u64 size u64 created ms i64

It is written, synced and named before the segment's file goes. As long as both are there, the file counts.
A record that is not whole, or has the salt of another file, counts for nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from crc32c import crc32c

from wal.disk import Disk
from wal.whole_files import read_file, replace_file

RECORD_SUFFIX = ".remote"
RECORD_TEMPORARY = "remote.tmp"
"""The name of a record until it is complete; recovery removes one left by a crash."""

_MAGIC = b"KAWALREM"
_FORMAT = 1
_HEAD = struct.Struct("<8sHHIQQQq")
_CRC = struct.Struct("<I")


class RemoteRecord(NamedTuple):
    """A segment's bytes in the object store."""

    base_version: int
    salt: int
    key: str
    """The object's key, relative to the store's prefix."""
    size_bytes: int
    crc: int
    """CRC-32C of all bytes of the object."""
    created_ms: int = 0
    """The time of day in the segment's header."""


def record_name(base_version: int) -> str:
    """Return the name of the record of the segment that begins with this version."""
    return f"{base_version:020d}{RECORD_SUFFIX}"


def encode_record(record: RemoteRecord) -> bytes:
    """Return the bytes of a record."""
    key = record.key.encode()
    head = _HEAD.pack(
        _MAGIC, _FORMAT, len(key), record.crc, record.base_version, record.salt, record.size_bytes,
        record.created_ms,
    )  # fmt: skip
    return head + key + _CRC.pack(crc32c(head + key))


def decode_record(data: bytes) -> RemoteRecord | None:
    """Return the record in a file's bytes, None when they are not a whole one."""
    if len(data) < _HEAD.size + _CRC.size:
        return None
    magic, version, key_bytes, crc, base_version, salt, size_bytes, created_ms = _HEAD.unpack_from(data)
    end = _HEAD.size + key_bytes
    if magic != _MAGIC or version != _FORMAT or len(data) != end + _CRC.size:
        return None
    if crc32c(data[:end]) != _CRC.unpack_from(data, end)[0]:
        return None
    key = data[_HEAD.size : end].decode()
    return RemoteRecord(base_version, salt, key, size_bytes, crc, created_ms)


def write_record(disk: Disk, directory: str, record: RemoteRecord) -> None:
    """Write a record so that it survives a crash from now on.  Raises: DiskError."""
    name = record_name(record.base_version)
    replace_file(disk, directory, name, encode_record(record), temporary=RECORD_TEMPORARY)


def read_records(disk: Disk, directory: str, names: Iterable[str]) -> dict[int, RemoteRecord]:
    """Return the whole records among a directory's names, by base version.  Raises: DiskError."""
    found = {}
    for name in names:
        if not name.endswith(RECORD_SUFFIX):
            continue
        record = decode_record(read_file(disk, f"{directory}/{name}"))
        if record is not None and record_name(record.base_version) == name:
            found[record.base_version] = record
    return found
