"""The ledgers of a stream: its leader epochs, with the numbers of the batches in each.

Why so is in docs/adr/0018-message-ids-are-derived.md.

An entry is a batch. Its *ordinal* counts the entries of its stream from 0, over all ledgers; its number in
its ledger is that minus the ordinal of the ledger's first entry. No ordinal is stored with a batch: a *mark*
says which ordinal the batch at an offset has, and what lies between two marks is counted (wal/entries.py).

    entries     0  1  2  3  4  5 | 6  7  8  9 ...          one mark for each ledger, and one for every
    marks       ^                  ^        ^              MARK_ENTRIES entries or MARK_BYTES bytes

A mark is a meta entry in the frame of its batch, so a crash keeps both or neither. Appends count ahead of
what is durable, and a failed sync takes them back.

    mark := kind flags ledger:i32 offset:i64 ordinal:i64 first_ordinal:i64 bytes:i64 begun_ms:i64

`bytes` counts the stream's batches before the mark; first ordinal and time are those of the mark's ledger.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from enum import IntFlag
from itertools import count, zip_longest
from typing import Final, NamedTuple

from wal.format import MetaKind

MARK_ENTRIES: Final = 1_024
"""The most entries that a look-up has to count."""

MARK_BYTES: Final = 16 << 20
"""The most bytes that it has to read, but for one batch: 10 ms from the page cache."""

LEDGERS_MAX: Final = 10_000
"""The most ledgers of a stream: the last one then grows until retention has deleted some. Each checkpoint
writes all of them."""

MARK: Final = struct.Struct("<BBiqqqqq")

_changes = count(1)


def next_change() -> int:
    """Return a number above those of all states of ledgers that this process has."""
    return next(_changes)


class Flags(IntFlag):
    """Facts about the beginning of a ledger."""

    BEGINS = 1
    """The mark begins the ledger."""
    UNCOUNTED = 2
    """Entries before it were lost: nothing may be counted back from here."""
    UNNUMBERED = 4
    """The beginning itself was lost, and with it the numbers of the ledger's entries."""


class Limits(NamedTuple):
    """The limits of a ledger: the next entry beyond one of them begins another."""

    entries: int
    size_bytes: int
    age_ms: int


class Ledger(NamedTuple):
    """A ledger, from its beginning on."""

    ledger_id: int
    """Also the leader epoch of its batches."""
    start_offset: int
    ordinal: int
    """That of its first entry."""
    start_bytes: int
    """The size of the stream's batches before it."""
    begun_ms: int
    """The time of day at which it began."""
    flags: int = 0


class Mark(NamedTuple):
    """A place in the stream of which the ordinal is known."""

    flags: int
    ledger_id: int
    offset: int
    ordinal: int
    first_ordinal: int
    """That of the ledger's first entry."""
    total_bytes: int
    begun_ms: int

    def encode(self) -> bytes:
        """Return the payload of its meta entry."""
        return MARK.pack(MetaKind.MARK, *self)

    def ledger(self) -> Ledger:
        """Return the ledger as the mark tells it."""
        flags = self.flags & Flags.UNCOUNTED
        return Ledger(self.ledger_id, self.offset, self.first_ordinal, self.total_bytes, self.begun_ms, flags)


def read_mark(payload: bytes | memoryview) -> Mark:
    """Return the mark in the payload of a meta entry."""
    return Mark._make(MARK.unpack(payload)[1:])


class Span(NamedTuple):
    """A ledger as others see it; the last one is open, and has no end yet."""

    ledger_id: int
    first_offset: int
    end_offset: int | None
    entries: int | None
    """None where a repair has lost some of them, or the place where it began."""
    size_bytes: int | None
    begun_ms: int


class Interval(NamedTuple):
    """Two neighbouring marks; the entries between them are counted from either."""

    offset: int
    ordinal: int
    end_offset: int
    end_ordinal: int
    end_counts: bool
    """Whether it may be counted back from the end."""


class Ledgers:
    """The ledgers and marks of one stream."""

    __slots__ = (
        "_head",
        "_marked",
        "_marked_bytes",
        "_next_bytes",
        "_next_is_unsure",
        "_next_ordinal",
        "changes",
        "durable_bytes",
        "durable_ordinal",
        "is_unsure",
        "ledgers",
        "limits",
        "offsets",
        "ordinals",
    )

    def __init__(self) -> None:
        self.limits: Callable[[], Limits] | None = None
        """The limits in effect; None as long as they are not known, and no ledger is full."""
        self.ledgers: list[Ledger] = []
        """The durable ones that have records, oldest first; from the one at the log start on."""
        self.offsets = array("q")
        self.ordinals = array("q")
        """The durable marks."""
        self.durable_ordinal = 0
        """The number of durable entries since the stream began, and the size of their batches."""
        self.durable_bytes = 0
        self.changes = next(_changes)
        """A number that no other state of ledgers had: it changes with each beginning, end and deletion."""
        self.is_unsure = False
        """Whether a repair has lost entries since the last mark, so that the ordinal at the end is wrong."""
        self._head: Ledger | None = None
        self._marked = self._marked_bytes = 0
        self._next_ordinal = self._next_bytes = 0
        self._next_is_unsure = False

    @property
    def epoch(self) -> int:
        """The id of the newest durable ledger; 0 without any."""
        return self.ledgers[-1].ledger_id if self.ledgers else 0

    # --- appending ---------------------------------------------------------------------------------------

    def take(self, size_bytes: int, *, epoch: int, offset: int, wall_ms: int) -> Mark | None:
        """Count the next batch, at `offset`; return the mark that must join its frame, if one is due.

        `epoch` is the stream's. The mark's ledger is the epoch of the batch.
        """
        mark = self._mark_due(size_bytes, epoch, offset, wall_ms)
        self._next_ordinal += 1
        self._next_bytes += size_bytes
        return mark

    def begin(self, ledger_id: int, *, offset: int, wall_ms: int) -> Mark:
        """Begin a ledger whose first batch comes later."""
        flags = Flags.BEGINS | (Flags.UNCOUNTED if self._next_is_unsure else 0)
        ordinal = self._next_ordinal
        mark = Mark(int(flags), ledger_id, offset, ordinal, ordinal, self._next_bytes, wall_ms)
        self._head = mark.ledger()
        self._marked, self._marked_bytes = ordinal, self._next_bytes
        self._next_is_unsure = False
        return mark

    def _mark_due(self, size_bytes: int, epoch: int, offset: int, wall_ms: int) -> Mark | None:
        head = self._head
        if self._next_is_unsure or (head is not None and self._is_full(head, size_bytes, wall_ms)):
            return self.begin(epoch + 1, offset=offset, wall_ms=wall_ms)
        if head is None:
            return self.begin(epoch, offset=offset, wall_ms=wall_ms)
        entries = self._next_ordinal - self._marked
        if entries < MARK_ENTRIES and (not entries or self._next_bytes - self._marked_bytes < MARK_BYTES):
            return None
        self._marked, self._marked_bytes = self._next_ordinal, self._next_bytes
        return Mark(
            0, head.ledger_id, offset, self._next_ordinal, head.ordinal, self._next_bytes, head.begun_ms
        )

    def _is_full(self, head: Ledger, size_bytes: int, wall_ms: int) -> bool:
        entries = self._next_ordinal - head.ordinal
        if self.limits is None or not entries or len(self.ledgers) >= LEDGERS_MAX:
            return False
        limits = self.limits()
        return (
            entries >= limits.entries
            or self._next_bytes - head.start_bytes + size_bytes > limits.size_bytes
            or wall_ms - head.begun_ms > limits.age_ms
        )

    # --- durable -----------------------------------------------------------------------------------------

    def written(self, entries: int, size_bytes: int) -> None:
        """Count batches that have become durable."""
        self.durable_ordinal += entries
        self.durable_bytes += size_bytes

    def put(self, mark: Mark) -> bool:
        """Keep a durable mark; return whether it is new."""
        newest = self.offsets[-1] if self.offsets else -1
        marked = self.ledger_at(newest)
        if marked is not None and (mark.ledger_id, mark.offset) <= (marked.ledger_id, newest):
            return False
        while self.offsets and self.offsets[-1] > mark.offset:
            # A repair has filled the offsets from here on with an empty batch: the entries were lost.
            self.offsets.pop(), self.ordinals.pop()
        if mark.flags & Flags.BEGINS or not self.ledgers:
            self.is_unsure = False
            while self.ledgers and self.ledgers[-1].start_offset >= mark.offset:
                self.ledgers.pop()  # it never had an entry
            self.ledgers.append(mark.ledger())
            self.changes = next(_changes)
        else:
            self._number(mark)
        if self.offsets and self.offsets[-1] == mark.offset:
            self.ordinals[-1] = mark.ordinal
        else:
            self.offsets.append(mark.offset)
            self.ordinals.append(mark.ordinal)
        return True

    def _number(self, mark: Mark) -> None:
        """Learn from a later mark of a ledger the numbers that were lost with its beginning."""
        row = bisect_left(self.ledgers, mark.ledger_id, key=_ledger_id)
        ledger = self.ledgers[row] if row < len(self.ledgers) else None
        if ledger is not None and ledger.ledger_id == mark.ledger_id and ledger.flags & Flags.UNNUMBERED:
            self.ledgers[row] = ledger._replace(
                ordinal=mark.first_ordinal, begun_ms=mark.begun_ms, flags=int(Flags.UNCOUNTED)
            )
            self.changes = next(_changes)

    def revert(self) -> None:
        """Take back all that is not durable."""
        self._head = self.ledgers[-1] if self.ledgers else None
        self._next_ordinal, self._next_bytes = self.durable_ordinal, self.durable_bytes
        self._marked = self.ordinals[-1] if self.ordinals else 0
        self._marked_bytes = self.durable_bytes
        self._next_is_unsure = self.is_unsure

    def lose_count(self) -> None:
        """Learn that entries before the end were lost; nothing may be pending."""
        self.is_unsure = self._next_is_unsure = True

    # --- replay ------------------------------------------------------------------------------------------

    def replay(self, size_bytes: int, *, offset: int, epoch: int, due: int, wall_ms: int) -> None:
        """Count a batch found in the log, at `offset` where `due` was; a gap is what a repair has lost."""
        if offset > due:
            self.is_unsure = True
        if epoch > self.epoch:
            flags = int(Flags.UNCOUNTED | Flags.UNNUMBERED)
            self.ledgers.append(
                Ledger(epoch, offset, self.durable_ordinal, self.durable_bytes, wall_ms, flags)
            )
            self.changes = next(_changes)
        self.written(1, size_bytes)
        self.revert()

    def resume(self, ordinal: int, total_bytes: int) -> None:
        """Count on from here: a mark that was found tells better than what was counted."""
        self.durable_ordinal, self.durable_bytes = ordinal, total_bytes
        self.is_unsure = False
        self.revert()

    # --- deleting ----------------------------------------------------------------------------------------

    def trim(self, log_start: int) -> None:
        """Forget what lies before the log start, but for the last mark and ledger at or before it."""
        marks = bisect_right(self.offsets, log_start) - 1
        if marks > 0:
            del self.offsets[:marks], self.ordinals[:marks]
        ledgers = bisect_right(self.ledgers, log_start, key=_start_offset) - 1
        if ledgers > 0:
            del self.ledgers[:ledgers]
            self.changes = next(_changes)

    # --- looking up --------------------------------------------------------------------------------------

    def around_offset(self, offset: int, high_watermark: int) -> Interval | None:
        """Return the marks around an offset; None before the first one."""
        return self._interval(bisect_right(self.offsets, offset) - 1, high_watermark)

    def around_ordinal(self, ordinal: int, high_watermark: int) -> Interval | None:
        """Return the marks around an ordinal; None before the first one."""
        return self._interval(bisect_right(self.ordinals, ordinal) - 1, high_watermark)

    def _interval(self, row: int, high_watermark: int) -> Interval | None:
        if row < 0:
            return None
        start = self.offsets[row], self.ordinals[row]
        if row + 1 == len(self.offsets):
            return Interval(*start, high_watermark, self.durable_ordinal, not self.is_unsure)
        end_offset = self.offsets[row + 1]
        ledger = self.ledger_at(end_offset)
        is_lost = ledger is None or (ledger.start_offset == end_offset and ledger.flags & Flags.UNCOUNTED)
        return Interval(*start, end_offset, self.ordinals[row + 1], not is_lost)

    def spans(self) -> Iterator[Span]:
        """Yield the ledgers that are durable now, with what is known of their sizes, oldest first."""
        ledgers = [*self.ledgers]
        for ledger, following in zip_longest(ledgers, ledgers[1:]):
            end = entries = size_bytes = None
            if following is not None:
                end = following.start_offset
                if not (ledger.flags & Flags.UNNUMBERED or following.flags & Flags.UNCOUNTED):
                    entries = following.ordinal - ledger.ordinal
                    size_bytes = following.start_bytes - ledger.start_bytes
            yield Span(ledger.ledger_id, ledger.start_offset, end, entries, size_bytes, ledger.begun_ms)

    def ledger_at(self, offset: int) -> Ledger | None:
        """Return the ledger with the entry at an offset."""
        row = bisect_right(self.ledgers, offset, key=_start_offset) - 1
        return self.ledgers[row] if row >= 0 else None

    def ledger(self, ledger_id: int) -> tuple[Ledger, Ledger | None] | None:
        """Return the ledger with this id and the one after it; None when there is none of that id."""
        row = bisect_left(self.ledgers, ledger_id, key=_ledger_id)
        if row == len(self.ledgers) or self.ledgers[row].ledger_id != ledger_id:
            return None
        return self.ledgers[row], self.ledgers[row + 1] if row + 1 < len(self.ledgers) else None


def _start_offset(ledger: Ledger) -> int:
    return ledger.start_offset


def _ledger_id(ledger: Ledger) -> int:
    return ledger.ledger_id
