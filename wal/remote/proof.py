"""The proof that an object has a segment's bytes: it is read back whole, and compared by its CRC."""

from __future__ import annotations

from typing import Final

from crc32c import crc32c

from wal.objects import NoSuchObject, ObjectStore
from wal.remote.formats import RemoteSegment

PIECE_BYTES: Final = 8 << 20
"""What is read back at once."""


def has_its_bytes(store: ObjectStore, key: str, segment: RemoteSegment) -> bool:
    """Return whether the object is the segment as it was uploaded.  Raises: ObjectStoreError."""
    found = position = 0
    while position < segment.size_bytes:
        size = min(PIECE_BYTES, segment.size_bytes - position)
        try:
            piece = store.read_range(key, position, size)
        except NoSuchObject:
            return False
        if len(piece) != size:
            return False
        found, position = crc32c(piece, found), position + size
    return found == segment.crc
