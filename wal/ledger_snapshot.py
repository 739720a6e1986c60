"""The ledgers and marks of all streams for the checkpoint: captured at once, made into tables in a thread."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple

from wal.ledgers import Ledger, Ledgers

COUNTED_COLUMNS = "Qqqqqq"
# stream id, ordinal of the next entry, size of all batches, whether a repair lost entries, ledgers, marks
LEDGER_COLUMNS = "qqqqqq"
# ledger, first offset, ordinal, size of the batches before it, begun, flags; by stream, as counted
MARK_COLUMNS = "qq"
# offset, ordinal; by stream, as counted

CODES = (COUNTED_COLUMNS, LEDGER_COLUMNS, MARK_COLUMNS)

Table = list["array[int]"]


class CountedStream(NamedTuple):
    """The durable part of a stream's ledgers."""

    stream_id: int
    ordinal: int
    total_bytes: int
    is_unsure: bool
    ledgers: tuple[Ledger, ...]
    offsets: array[int]
    ordinals: array[int]

    @classmethod
    def of(cls, stream_id: int, ledgers: Ledgers) -> CountedStream:
        """Capture a stream; later changes do not affect it."""
        return cls(
            stream_id,
            ledgers.durable_ordinal,
            ledgers.durable_bytes,
            ledgers.is_unsure,
            tuple(ledgers.ledgers),
            ledgers.offsets[:],
            ledgers.ordinals[:],
        )

    def restored(self) -> Ledgers:
        """Return the ledgers again."""
        ledgers = Ledgers()
        ledgers.durable_ordinal, ledgers.durable_bytes = self.ordinal, self.total_bytes
        ledgers.is_unsure = self.is_unsure
        ledgers.ledgers = list(self.ledgers)
        ledgers.offsets, ledgers.ordinals = self.offsets[:], self.ordinals[:]
        ledgers.revert()
        return ledgers

    def epochs(self) -> tuple[tuple[int, int], ...]:
        """Return the stream's leader epochs, with their first offsets."""
        return tuple((ledger.ledger_id, ledger.start_offset) for ledger in self.ledgers if ledger.ledger_id)


def tables_of(streams: Iterable[CountedStream]) -> tuple[Table, Table, Table]:
    """Return the tables of streams, counts first."""
    counted, ledgers, marks = ([array(code) for code in codes] for codes in CODES)
    for stream in streams:
        row = (*stream[:4], len(stream.ledgers), len(stream.offsets))
        for column, value in zip(counted, row, strict=True):
            column.append(int(value))
        if stream.ledgers:
            for column, values in zip(ledgers, zip(*stream.ledgers, strict=True), strict=True):
                column.extend(values)
        marks[0].extend(stream.offsets)
        marks[1].extend(stream.ordinals)
    return counted, ledgers, marks


def streams_of(counted: Table, ledgers: Table, marks: Table) -> list[CountedStream]:
    """Return the streams in such tables.

    Raises: ValueError when the tables do not fit together.
    """
    if not counted[0]:
        return []
    if sum(counted[4]) != len(ledgers[0]) or sum(counted[5]) != len(marks[0]):
        raise ValueError("the ledgers or marks of a checkpoint are not as many as its streams have")
    rows = [Ledger._make(row) for row in zip(*ledgers, strict=True)]
    found, first, place = [], 0, 0
    for stream_id, ordinal, total_bytes, is_unsure, ledger_count, mark_count in zip(*counted, strict=True):
        end, until = first + ledger_count, place + mark_count
        found.append(
            CountedStream(
                stream_id, ordinal, total_bytes, bool(is_unsure), tuple(rows[first:end]),
                marks[0][place:until], marks[1][place:until],
            )
        )  # fmt: skip
        first, place = end, until
    return found
