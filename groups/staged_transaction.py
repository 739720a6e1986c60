"""The offsets that a transaction has staged in a partition of __consumer_offsets, up to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groups.effects import Stamp, Undo
from groups.record_keys import OffsetKey

Place = tuple[int, int]
"""The partition of __consumer_offsets, and the producer's id."""

EncodedOffset = tuple[OffsetKey, bytes]

Count = Callable[[OffsetKey, bytes], None]
"""Makes an offset the progress of its group."""


class StagedTransaction:
    """The offsets that one transaction has staged in one partition of __consumer_offsets."""

    __slots__ = ("closed", "commit", "count", "offsets", "place", "stamp")

    def __init__(self, place: Place, stamp: Stamp) -> None:
        self.place = place
        self.stamp = stamp
        self.offsets: dict[OffsetKey, tuple[int, bytes]] = {}
        """Each with its number in the order of all that was staged."""
        self.closed = self.commit = False
        """Whether its marker is written and a slice has yet to come; whether it commits."""
        self.count: Count | None = None
        """Makes an offset count that comes back after the last slice."""


class Closed:
    """The offsets that a transaction had staged in a partition, once its marker is written."""

    __slots__ = ("_undo", "counting", "keys", "large", "left")

    def __init__(
        self, keys: list[OffsetKey], counting: list[tuple[OffsetKey, bytes]], undo: list[Undo]
    ) -> None:
        self.keys = keys
        self.counting = counting
        """The offsets that count when the marker is durable."""
        self.large: StagedTransaction | None = None
        """The transaction whose offsets are taken in slices; those above are none then."""
        self.left: Iterator[OffsetKey] = iter(())
        self._undo = undo

    def undo(self) -> None:
        """Open the transaction again: the marker was not stored."""
        for undo in reversed(self._undo):
            undo()
