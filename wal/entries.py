"""Counting the entries between two marks of a stream: which ordinal a batch has, and which batch an ordinal.

    mark 1024                                   mark 2048
    |-- batch -- batch -- batch -- ... -- batch --|        forwards while one batch follows the other,
                                                           backwards from the end as far as that is so

What retention has deleted lies at the beginning, so the entries after it are counted back from the next mark.
A gap between two batches is what a repair has lost; what lies between two gaps has no number. Compaction
leaves no gaps: a batch without records takes the place of a run of batches, and tells how many they were
(`entry_weight`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from wal.disk import Buffer
from wal.format import BATCH_PREFIX
from wal.ledgers import Flags, Interval, Ledger, Ledgers

NO_PRODUCER: Final = -1


class Entry(NamedTuple):
    """An entry, or a run of entries that compaction has emptied."""

    base_offset: int
    next_offset: int
    weight: int
    """The number of entries that it stands for."""


def entry_weight(producer_id: int, base_sequence: int, record_count: int) -> int:
    """Return how many entries a batch stands for.

    Only compaction writes batches with neither records nor a producer, but a sequence: minus their number.
    """
    is_run = producer_id == NO_PRODUCER and record_count == 0 and base_sequence < -1
    return -base_sequence if is_run else 1


def entries_in(data: Buffer, end_offset: int) -> Iterable[Entry]:
    """Yield the entries of whole batches, up to an offset."""
    position = 0
    while position < len(data):
        prefix = BATCH_PREFIX.unpack_from(data, position)
        if prefix[0] >= end_offset:
            return
        yield Entry(prefix[0], prefix[0] + prefix[6] + 1, entry_weight(prefix[9], prefix[11], prefix[12]))
        position += prefix[1] + 12


class Numbered(NamedTuple):
    """An entry with the ordinal of the first of those that it stands for; None where that is not known."""

    entry: Entry
    ordinal: int | None


def numbered(entries: list[Entry], interval: Interval) -> list[Numbered]:
    """Return the entries of an interval, numbered as far as they can be counted from one of its ends."""
    ordinals: list[int | None] = [None] * len(entries)
    due, ordinal = interval.offset, interval.ordinal
    for row, entry in enumerate(entries):
        if entry.base_offset != due:
            break
        ordinals[row] = ordinal
        due, ordinal = entry.next_offset, ordinal + entry.weight
    if interval.end_counts:
        due, ordinal = interval.end_offset, interval.end_ordinal
        for row in range(len(entries) - 1, -1, -1):
            entry = entries[row]
            if entry.next_offset != due or ordinals[row] is not None:
                break
            ordinal -= entry.weight
            ordinals[row] = ordinal
            due = entry.base_offset
    return [Numbered(*pair) for pair in zip(entries, ordinals, strict=True)]


class Place(NamedTuple):
    """An entry's place in its stream and in its ledger."""

    entry: Entry
    ledger_id: int
    number: int
    """Its number in the ledger; of a run, that of its first entry."""


def entry_at_offset(found: list[Numbered], offset: int, ledgers: Ledgers) -> Place | None:
    """Return the place of the entry with an offset; None if it is not known."""
    for entry, ordinal in found:
        if entry.base_offset <= offset < entry.next_offset:
            ledger = ledgers.ledger_at(entry.base_offset)
            if ordinal is None or ledger is None or ledger.flags & Flags.UNNUMBERED:
                return None
            return Place(entry, ledger.ledger_id, ordinal - ledger.ordinal)
    return None


def entry_at_ordinal(found: list[Numbered], ordinal: int, ledger: Ledger, ledgers: Ledgers) -> Place | None:
    """Return the place of the entry of a ledger with an ordinal; None if it is not known."""
    if ledger.flags & Flags.UNNUMBERED:
        return None
    for entry, first in found:
        if first is not None and first <= ordinal < first + entry.weight:
            # Where entries were lost, those of the next ledger may have ordinals of this one.
            is_in_it = ledgers.ledger_at(entry.base_offset) == ledger
            return Place(entry, ledger.ledger_id, first - ledger.ordinal) if is_in_it else None
    return None
