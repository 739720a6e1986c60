"""A model of a stream's ids: which entry every batch is, kept beside a log that derives them."""

from __future__ import annotations

from wal.entries import Entry, Numbered, Place, entries_in, entry_at_offset, entry_at_ordinal, numbered
from wal.ledgers import Interval, Ledgers
from wal.log import VnodeLog

from tests.wal.logs import content  # isort: skip


def ledgers_of(log: VnodeLog, stream_id: int) -> Ledgers:
    """Return the ledgers of a stream that has some."""
    found = log._state.streams[stream_id].ledgers
    assert found is not None
    return found


def read_interval(log: VnodeLog, stream_id: int, interval: Interval) -> list[Numbered]:
    """Read the entries of an interval and number them, as a look-up does."""
    entries: list[Entry] = []
    offset = max(interval.offset, log.log_start(stream_id))
    while offset < interval.end_offset:
        result = log.read(stream_id, offset, 500)
        entries += entries_in(content(result), interval.end_offset)
        offset = result.next_offset
    return numbered(entries, interval)


def locate(log: VnodeLog, stream_id: int, offset: int) -> Place | None:
    """Return the place of the entry at an offset."""
    ledgers = ledgers_of(log, stream_id)
    interval = ledgers.around_offset(offset, log.high_watermark(stream_id))
    if interval is None:
        return None
    return entry_at_offset(read_interval(log, stream_id, interval), offset, ledgers)


def find(log: VnodeLog, stream_id: int, ledger_id: int, number: int) -> Place | None:
    """Return the place of an entry of a ledger."""
    ledgers = ledgers_of(log, stream_id)
    known = ledgers.ledger(ledger_id)
    if known is None:
        return None
    ordinal = known[0].ordinal + number
    interval = ledgers.around_ordinal(ordinal, log.high_watermark(stream_id))
    if interval is None:
        return None
    return entry_at_ordinal(read_interval(log, stream_id, interval), ordinal, known[0], ledgers)
