"""A part of a log as a share-partition is told of it, and what a member is told that it has acquired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import NamedTuple


class Acquired(NamedTuple):
    """Records that a member has now: first and last offset, and how often they were delivered."""

    first: int
    last: int
    delivery_count: int


class Later(NamedTuple):
    """Records that are not to be delivered before a monotonic moment."""

    first: int
    last: int
    until_ms: int


class Found(NamedTuple):
    """A part of the log as it was read."""

    first: int
    """The offset from which it was read."""
    batches: Sequence[tuple[int, int]]
    """First and last offset of the batches, or parts of batches, with records for delivery, in order."""
    end: int
    """The offset before which everything was read."""
    later: Sequence[Later] = ()
    """Records between them that are for later."""
    record_bytes: Sequence[int] = ()
    """The mean size of a record in each of the batches, if that counts."""

    def pieces(self) -> Iterable[tuple[int, int, int, int]]:
        """Yield first and last offset, moment from which on it is for delivery, and mean size, in order."""
        sizes = self.record_bytes or repeat(0)
        now = ((first, last, 0, size) for (first, last), size in zip(self.batches, sizes, strict=False))
        if not self.later:
            return now
        return sorted((*now, *((*part, 0) for part in self.later)))
