"""The rest of batches that lost all their records, where batches are counted (kawal.message.ids).

    batches       5   [6  7  8]   9   [10]          in brackets: no record stays
    what is left  5   [6 to 8: 3] 9   [10: 1]       one batch without records for each run

Left out, they would change the numbers of all later ones. The batch that takes their place has their
offsets, no producer, and as its base sequence minus their number (wal/entries.py). A run ends before a mark
of the log, so that every mark is at the beginning of a batch; each ledger begins with one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from protocol.compression import Codec
from protocol.records import (
    HEADER,
    HEADER_BYTES,
    NO_TIMESTAMP,
    PREFIX_BYTES,
    BatchHeader,
    renew_crc,
)
from wal.entries import NO_PRODUCER, entry_weight

Copy = bytes | bytearray

DELTA_MAX = 2**31 - 1
"""The most offsets that one batch has, less one."""


class _Run(NamedTuple):
    """Batches without records, next to each other."""

    first: BatchHeader
    last_offset: int
    weight: int


class EntryRuns:
    """Gathers the emptied batches of a pass, in the order of their offsets."""

    def __init__(self, marks: Sequence[int]) -> None:
        """Make one for a stream that has marks at these offsets, which ascend."""
        self._marks = marks
        self._run: _Run | None = None

    def take(self, header: BatchHeader, left: Copy | None) -> list[Copy]:
        """Return the copies to append, now that this is left of the next batch."""
        is_empty = left is not None and len(left) == HEADER_BYTES and header.producer_id < 0
        if left is not None and not is_empty:
            return [*self.end(), left]
        weight = entry_weight(header.producer_id, header.base_sequence, header.record_count)
        run, copies = self._run, []
        if run is not None and (
            self._is_mark(header.base_offset) or header.last_offset - run.first.base_offset > DELTA_MAX
        ):
            copies, run = self.end(), None
        if run is None:
            self._run = _Run(header, header.last_offset, weight)
        else:
            self._run = _Run(run.first, header.last_offset, run.weight + weight)
        return copies

    def _is_mark(self, offset: int) -> bool:
        row = bisect_left(self._marks, offset)
        return row < len(self._marks) and self._marks[row] == offset

    def end(self) -> list[Copy]:
        """Return the batch for the run under way, if there is one."""
        run, self._run = self._run, None
        return [] if run is None else [_batch_of(run)]


def _batch_of(run: _Run) -> bytearray:
    header = run.first._replace(
        batch_length=HEADER_BYTES - PREFIX_BYTES,
        attributes=int(Codec.NONE),
        last_offset_delta=run.last_offset - run.first.base_offset,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=NO_TIMESTAMP,
        producer_id=NO_PRODUCER,
        producer_epoch=-1,
        base_sequence=-run.weight,
        record_count=0,
    )
    batch = bytearray(HEADER_BYTES)
    HEADER.pack_into(batch, 0, *header)
    renew_crc(batch)
    return batch
