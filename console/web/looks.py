"""The way in which a page shows records: what is masked, and which members are columns of its table."""

from __future__ import annotations

from typing import NamedTuple

from console.web.cells import Cell, cells_of
from console.web.masks import NO_MASK, TopicMask
from protocol.record_reader import Headers, Record

CUT_BYTES = 2048
"""Bytes of a key or value that a list of records shows."""


class RecordRow(NamedTuple):
    """A record with its key and value cut to CUT_BYTES; sizes are whole, and -1 for null or masked."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    key_size: int
    value: bytes | None
    value_size: int
    headers: Headers
    cells: tuple[Cell, ...] = ()


class Look(NamedTuple):
    """A mask, and the names of columns."""

    mask: TopicMask = NO_MASK
    columns: tuple[str, ...] = ()

    def row(self, partition: int, record: Record) -> RecordRow:
        """Return a record as a row of the page."""
        masked = self.mask.record(record)
        key, value = masked.key, masked.value
        return RecordRow(
            partition,
            record.offset,
            record.timestamp_ms,
            None if key is None else bytes(key[:CUT_BYTES]),
            -1 if key is None else len(key),
            None if value is None else bytes(value[:CUT_BYTES]),
            -1 if value is None else len(value),
            masked.headers,
            cells_of(masked, self.columns),
        )
