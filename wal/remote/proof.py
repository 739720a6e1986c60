"""The proof that an object has a segment's bytes: it is read back whole, and compared by its CRC."""

from __future__ import annotations

from typing import Final, NamedTuple

from crc32c import crc32c

from wal.objects import NoSuchObject, ObjectStore, ObjectStoreError
from wal.remote.formats import RemoteSegment
from wal.remote_record import RemoteRecord

PIECE_BYTES: Final = 8 << 20
"""What is read back at once."""

FAILURES_MAX: Final = 3
"""The objects of a round that may give no answer: each can take as long as the store's deadline, and a store
that is away gives none at all."""


class Proofs(NamedTuple):
    """The proofs of one round."""

    records: dict[str, list[RemoteRecord]]
    """The objects that were read back and compared, by log."""
    error: ObjectStoreError | None = None
    """The first error of an object that could not be read; the others count all the same."""
    read_bytes: int = 0
    """The size of the objects that were read back, or tried."""


class ProofReads:
    """The reads of one round, within a budget of bytes and of failures."""

    def __init__(self, store: ObjectStore, budget_bytes: int) -> None:
        self._store = store
        self._left_bytes = budget_bytes
        self.read_bytes = 0
        """The size of the objects that were read, or tried."""
        self._failures = 0
        self.error: ObjectStoreError | None = None
        """The first error of an object that could not be read."""

    @property
    def are_over(self) -> bool:
        """Whether the rest waits for the next round."""
        return self._left_bytes <= 0 or self._failures >= FAILURES_MAX

    def prove(self, key: str, segment: RemoteSegment) -> bool | None:
        """Return whether the object is the segment as it was uploaded; None when it could not be read."""
        self._left_bytes -= segment.size_bytes
        self.read_bytes += segment.size_bytes
        try:
            return has_its_bytes(self._store, key, segment)
        except ObjectStoreError as error:
            self.failed(error)
            return None

    def failed(self, error: ObjectStoreError) -> None:
        """Count an object that could not be read."""
        self._failures += 1
        self.error = self.error or error


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
