"""The transactions of one stream: those open, the limit for readers of committed data, those aborted.

    offsets   .. [a1 b1 a2 ] [b: commit] [ a: abort ] ..      transaction a is open from a1 on, b from b1 on
    last stable offset = first offset of the oldest transaction that has no *durable* marker, else the high
    watermark: a marker that could still be lost must not move it, because it never goes back.

An aborted transaction leaves an entry (producer, first offset, last offset, last stable offset then), in
order of its last offset, which is the marker's. A reader of [from, up_to) needs the entries with last >= from
and first < up_to; it may stop at the first whose last stable offset is >= up_to, because later entries began
at or after it. Source: KIP-98; Kafka's TransactionIndex.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from wal.format import BATCH_PREFIX

NO_OFFSET = -1

# Bits of a v2 batch's attributes.  Source: KIP-98.
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20

# The type of a control record, in its key after two bytes of version.  Source: KIP-98.
_ABORT, _COMMIT = 0, 1


class TransactionMarker(NamedTuple):
    """The end of a producer's transaction in this stream, from its control batch."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    is_commit: bool


class AbortedTransaction(NamedTuple):
    """A transaction whose records, up to its marker at `last_offset`, readers of committed data skip."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


_FIELDS = len(AbortedTransaction._fields)
_LAST_OFFSET = AbortedTransaction._fields.index("last_offset")

ENDING_MAX = 16
"""The ended transactions remembered one by one, where it is not told which of them are durable.  If nothing
asks for the last stable offset there would be one more with each transaction, for ever."""

_NONE: Mapping[int, int] = MappingProxyType({})


class _Ended(NamedTuple):
    marker_offset: int
    first_offset: int
    is_joined: bool = False
    """Whether it stands for several: the last marker of them, and the first of all offsets."""


class StreamTransactions:
    """Open, ending and aborted transactions of one stream."""

    __slots__ = ("_aborted", "_ending", "_open")

    def __init__(self) -> None:
        # Containers are made when they are needed: there may be 190,000 streams with a transaction each.
        self._open: dict[int, int] | None = None  # producer id -> first offset
        self._ending: list[_Ended] | None = None  # their markers are appended but may not be durable yet
        # The fields of AbortedTransaction one after the other, 32 bytes an entry; most streams have none.
        self._aborted: array[int] | None = None

    @property
    def open(self) -> Mapping[int, int]:
        """The first offset of each open transaction, by producer id."""
        return self._open or _NONE

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Open a transaction, or open it again."""
        if self._open is None:
            self._open = {}
        self._open[producer_id] = first_offset

    def forget(self, producer_id: int) -> None:
        """Let a producer have no open transaction, without an end."""
        if self._open is not None and self._open.pop(producer_id, None) is not None and not self._open:
            self._open = None

    def end(self, producer_id: int, *, marker_offset: int, is_commit: bool) -> bool:
        """Close the producer's transaction with a marker; return False when it had none here."""
        first_offset = self.open.get(producer_id)
        if first_offset is None:
            return False
        self.forget(producer_id)
        if self._ending is None:
            self._ending = []
        self._ending.append(_Ended(marker_offset, first_offset))
        if len(self._ending) > ENDING_MAX:
            self._ending = _joined(self._ending)
        if not is_commit:
            stable = min(self.open.values(), default=marker_offset + 1)
            if self._aborted is None:
                self._aborted = array("q")
            self._aborted.extend(AbortedTransaction(producer_id, first_offset, marker_offset, stable))
        return True

    def undo_end(self, marker_offset: int) -> None:
        """Undo the newest marker except for reopening: the caller begins it again."""
        if self._ending:
            newest = self._ending[-1]
            if newest.is_joined and newest.marker_offset >= marker_offset:
                self._ending[-1] = newest._replace(marker_offset=marker_offset - 1)
            elif newest.marker_offset == marker_offset:
                self._ending.pop()
        if self._aborted and self._aborted[_LAST_OFFSET - _FIELDS] == marker_offset:
            del self._aborted[-_FIELDS:]

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the offset below which every transaction is durably decided; at most the high watermark."""
        self.settled(high_watermark - 1)
        stable = min(self.open.values(), default=high_watermark)
        for ended in self._ending or ():
            stable = min(stable, ended.first_offset)
        return min(stable, high_watermark)

    def settled(self, last_offset: int) -> None:
        """Note that the markers up to an offset are durable, and counted in the high watermark."""
        if self._ending is None:
            return
        durable = 0
        while durable < len(self._ending) and self._ending[durable].marker_offset <= last_offset:
            durable += 1
        del self._ending[:durable]
        if not self._ending:
            self._ending = None

    @property
    def is_undecided(self) -> bool:
        """Whether a transaction is open, or ended with a marker that may not be durable."""
        return bool(self._open or self._ending)

    def aborted_rows(self, before_offset: int | None = None) -> array[int] | None:
        """Return a copy of the index up to the marker at `before_offset`, oldest marker first.

        An entry is four numbers, the fields of AbortedTransaction; None: there is none.
        """
        if not self._aborted:
            return None
        if before_offset is None:
            return self._aborted[:]
        return self._aborted[: _FIELDS * self._count_before(before_offset)] or None

    @property
    def aborted_bytes(self) -> int:
        """The memory of the index of aborted transactions."""
        return 0 if self._aborted is None else self._aborted.itemsize * len(self._aborted)

    def set_aborted(self, rows: array[int]) -> None:
        """Restore an index from `aborted_rows`."""
        self._aborted = rows[:]

    def aborted_between(self, from_offset: int, up_to_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records in [`from_offset`, `up_to_offset`), by first offset.

        Clients rely on that order.
        """
        rows = self._aborted or ()
        found = []
        for place in range(_FIELDS * self._count_before(from_offset), len(rows), _FIELDS):
            entry = AbortedTransaction(*rows[place : place + _FIELDS])
            if entry.first_offset < up_to_offset:
                found.append(entry)
            if entry.last_stable_offset >= up_to_offset:
                break
        return sorted(found, key=lambda transaction: transaction.first_offset)

    def forget_before(self, log_start: int) -> None:
        """Drop the entries whose records are all deleted."""
        if self._aborted is not None:
            del self._aborted[: _FIELDS * self._count_before(log_start)]

    def _count_before(self, offset: int) -> int:
        """Return the number of entries whose markers are before an offset."""
        rows = self._aborted or ()
        count = len(rows) // _FIELDS
        return bisect_left(range(count), offset, key=lambda row: rows[_FIELDS * row + _LAST_OFFSET])

    def is_empty(self) -> bool:
        """Return whether there is nothing to remember."""
        return not (self._open or self._ending or self._aborted)


def _joined(ending: list[_Ended]) -> list[_Ended]:
    """Let the older half of those that have ended stand for one: it counts as durable with the last."""
    older, newer = ending[: ENDING_MAX // 2], ending[ENDING_MAX // 2 :]
    first_offset = min(ended.first_offset for ended in older)
    return [_Ended(older[-1].marker_offset, first_offset, is_joined=True), *newer]


def read_marker(batch: bytes | memoryview, *, producer_id: int, epoch: int) -> TransactionMarker | None:
    """Return the marker in a control batch, or None when it holds another kind of control record.

    A control batch is never compressed and holds one record:

        record := length:varint attributes:i8 timestamp delta:varint offset delta:varint
                  key length:varint key value length:varint value
        key    := version:i16 type:i16
        value  := version:i16 coordinator epoch:i32
    """
    position = _after_varint(batch, BATCH_PREFIX.size) + 1
    position = _after_varint(batch, _after_varint(batch, position))
    position = _after_varint(batch, position)
    kind = int.from_bytes(batch[position + 2 : position + 4], "big", signed=True)
    if kind not in (_ABORT, _COMMIT):
        return None
    position = _after_varint(batch, position + 4) + 2
    coordinator_epoch = int.from_bytes(batch[position : position + 4], "big", signed=True)
    return TransactionMarker(producer_id, epoch, coordinator_epoch, kind == _COMMIT)


def _after_varint(data: bytes | memoryview, position: int) -> int:
    while data[position] & 0x80:
        position += 1
    return position + 1
