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


ENDING_MAX = 1_000
"""The ended transactions remembered one by one.  Where nothing reads, nothing asks which of them are durable,
and there would be one more with each transaction for ever."""


class _Ended(NamedTuple):
    marker_offset: int
    first_offset: int
    is_joined: bool = False
    """Whether it stands for several: the last marker of them, and the first of all offsets."""


class StreamTransactions:
    """Open, ending and aborted transactions of one stream."""

    __slots__ = ("_aborted", "_ending", "open")

    def __init__(self) -> None:
        self.open: dict[int, int] = {}  # producer id -> first offset
        self._ending: list[_Ended] = []  # their markers are appended but may not be durable yet
        # The fields of AbortedTransaction as columns, 32 bytes an entry.
        self._aborted: tuple[array[int], ...] = tuple(array("q") for _ in AbortedTransaction._fields)

    def end(self, producer_id: int, *, marker_offset: int, is_commit: bool) -> bool:
        """Close the producer's transaction with a marker; return False when it had none here."""
        first_offset = self.open.pop(producer_id, None)
        if first_offset is None:
            return False
        self._ending.append(_Ended(marker_offset, first_offset))
        if len(self._ending) > ENDING_MAX:
            self._join_older()
        if not is_commit:
            stable = min(self.open.values(), default=marker_offset + 1)
            entry = AbortedTransaction(producer_id, first_offset, marker_offset, stable)
            for column, value in zip(self._aborted, entry, strict=True):
                column.append(value)
        return True

    def _join_older(self) -> None:
        """Let the older half of those that have ended stand for one: it counts as durable with the last."""
        older = self._ending[: ENDING_MAX // 2]
        first_offset = min(ended.first_offset for ended in older)
        self._ending[: len(older)] = [_Ended(older[-1].marker_offset, first_offset, is_joined=True)]

    def undo_end(self, marker_offset: int) -> None:
        """Undo the newest marker except for reopening: the caller restores `open`."""
        newest = self._ending[-1] if self._ending else None
        if newest is not None and newest.is_joined and newest.marker_offset >= marker_offset:
            self._ending[-1] = newest._replace(marker_offset=marker_offset - 1)
        elif newest is not None and newest.marker_offset == marker_offset:
            self._ending.pop()
        last_offsets = self._aborted[2]
        if last_offsets and last_offsets[-1] == marker_offset:
            for column in self._aborted:
                column.pop()

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the offset below which every transaction is durably decided; at most the high watermark."""
        durable = 0
        while durable < len(self._ending) and self._ending[durable].marker_offset < high_watermark:
            durable += 1
        del self._ending[:durable]
        stable = min(self.open.values(), default=high_watermark)
        for ended in self._ending:
            stable = min(stable, ended.first_offset)
        return min(stable, high_watermark)

    @property
    def is_undecided(self) -> bool:
        """Whether a transaction is open, or ended with a marker that may not be durable."""
        return bool(self.open or self._ending)

    def aborted_columns(self, before_offset: int | None = None) -> tuple[array[int], ...]:
        """Return a copy of the index up to the marker at `before_offset`, as columns, oldest marker first."""
        last_offsets = self._aborted[2]
        count = len(last_offsets) if before_offset is None else bisect_left(last_offsets, before_offset)
        return tuple(column[:count] for column in self._aborted)

    def set_aborted(self, columns: tuple[array[int], ...]) -> None:
        """Restore an index from `aborted_columns`."""
        self._aborted = tuple(column[:] for column in columns)

    def aborted_between(self, from_offset: int, up_to_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records in [`from_offset`, `up_to_offset`), by first offset.

        Clients rely on that order.
        """
        _, first_offsets, last_offsets, stable_offsets = self._aborted
        found = []
        for row in range(bisect_left(last_offsets, from_offset), len(last_offsets)):
            if first_offsets[row] < up_to_offset:
                found.append(AbortedTransaction(*(column[row] for column in self._aborted)))
            if stable_offsets[row] >= up_to_offset:
                break
        return sorted(found, key=lambda transaction: transaction.first_offset)

    def forget_before(self, log_start: int) -> None:
        """Drop the entries whose records are all deleted."""
        count = bisect_left(self._aborted[2], log_start)
        for column in self._aborted:
            del column[:count]

    def is_empty(self) -> bool:
        """Return whether there is nothing to remember."""
        return not (self.open or self._ending or self._aborted[0])


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
