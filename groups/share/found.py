"""A part of a log as a share-partition is told of it, and what a member is told that it has acquired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple


class Acquired(NamedTuple):
    """Records that a member has now: first and last offset, and how often they were delivered."""

    first: int
    last: int
    delivery_count: int


class Later(NamedTuple):
    """Records that are not to be delivered before a monotonic moment (0: now), or only with their class."""

    first: int
    last: int
    until_ms: int
    priority: int = 0


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

    def pieces(self) -> Iterable[tuple[int, int, Later | None, int]]:
        """Yield first and last offset, what is known if it is for later, and mean size, in order."""
        sizes = self.record_bytes or repeat(0)
        now = ((first, last, None, size) for (first, last), size in zip(self.batches, sizes, strict=False))
        if not self.later:
            return now
        later = ((part.first, part.last, part, 0) for part in self.later)
        return sorted((*now, *later), key=itemgetter(0))


def report(acquired: list[Acquired], new: Acquired, batch_size: int, *, begins: bool) -> None:
    """Add records to an answer, whose ranges begin with a batch of the log once they have the best size."""
    if acquired:
        last = acquired[-1]
        is_large = begins and last.last - last.first + 1 >= batch_size
        if last.last + 1 == new.first and last.delivery_count == new.delivery_count and not is_large:
            acquired[-1] = Acquired(last.first, new.last, last.delivery_count)
            return
    acquired.append(new)
