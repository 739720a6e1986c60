"""The keys of a stream's new part, each with the offset of its last record, in bounded memory.

A pass of compaction keeps a record only if its key has no later record in here.
`log.cleaner.dedupe.buffer.size` decides how many keys fit; when it is full, the pass ends, and the next one
continues from there. Keys of up to 32 bytes are kept as they are, longer ones as a digest, which is unique.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

ENTRY_BYTES: Final = 160
"""The memory of a key: its bytes object (about 64), its offset (32), its place in the table (64)."""

KEYS_MIN: Final = 1_000
PLAIN_KEY_BYTES: Final = 32


class KeyOffsets:
    """Key -> offset of its last record, and whether that is a tombstone; key and tag -> its last carrier."""

    __slots__ = ("_carriers", "_limit", "_offsets")

    def __init__(self, budget_bytes: int) -> None:
        self._limit = max(KEYS_MIN, budget_bytes // ENTRY_BYTES)
        # The complement of the offset if the record is a tombstone.
        self._offsets: dict[bytes, int] = {}
        self._carriers: dict[tuple[bytes, int], int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def full(self) -> bool:
        """Whether no further batch may be added; one batch may go beyond the limit."""
        return len(self._offsets) + len(self._carriers) >= self._limit

    def put(self, key: bytes, offset: int) -> None:
        """Note the key's last record so far; offsets must ascend."""
        self._offsets[key if len(key) <= PLAIN_KEY_BYTES else _short(key)] = offset

    def put_tombstone(self, key: bytes, offset: int) -> None:
        """Note that the key's last record so far is a tombstone."""
        self.put(key, ~offset)

    def last(self, key: bytes) -> int:
        """Return the offset of the key's last record; -1 if none is known."""
        offset = self._offsets.get(key if len(key) <= PLAIN_KEY_BYTES else _short(key))
        if offset is None:
            return -1
        return offset if offset >= 0 else ~offset

    def carry(self, key: bytes, tags: Iterable[int], offset: int) -> None:
        """Note the last record so far that carries these tags of the key."""
        key = key if len(key) <= PLAIN_KEY_BYTES else _short(key)
        for tag in tags:
            self._carriers[key, tag] = offset

    def carries(self, key: bytes, tags: Iterable[int], offset: int) -> bool:
        """Whether a record is the last with one of these tags of its key, which has no tombstone after it."""
        key = key if len(key) <= PLAIN_KEY_BYTES else _short(key)
        if self._offsets.get(key, 0) < 0:
            return False
        return any(offset >= self._carriers.get((key, tag), -1) for tag in tags)


def _short(key: bytes) -> bytes:
    # One byte longer than any plain key, so that a digest is never mistaken for one.
    return b"\xff" + blake2b(key, digest_size=PLAIN_KEY_BYTES).digest()
