"""The ids of messages, `ledger:entry:partition:batch-index`, from offsets and back.

What lies between two marks of the log is read in threads, a chunk at a time, and counted (wal/entries.py).
Deletion or compaction in between has it read again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, NamedTuple

from broker.errors import RequestError, storage_error
from broker.loop.slices import Offload, Until, in_thread
from broker.storage.partition import Partition
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.entries import Entry, Numbered, Place, entries_in, entry_at_offset, entry_at_ordinal, numbered
from wal.errors import OffsetOutOfRange, WalError
from wal.ledgers import Flags, Interval, Ledgers
from wal.reader import Part
from wal.segment import FileRange

CHUNK_BYTES: Final = 1 << 20
TRIES: Final = 3
NO_INDEX: Final = -1
"""The batch index of a message that is alone in its entry."""


class Located(NamedTuple):
    """A message: its place and its id without the partition."""

    ledger: int
    entry: int
    batch_index: int
    offset: int
    first_offset: int
    last_offset: int
    exact: bool
    """False where compaction has removed entries: the message was in one of those that had these offsets."""


NO_PARTITION: Final = -1
"""The partition in the ids of a topic with kawal.nonpartitioned."""

Looking = Generator[Until, None, Located]


def id_at(partition: Partition, offset: int, offload: Offload) -> Looking:
    """Find the id of the message at an offset.

    Raises: RequestError: OFFSET_OUT_OF_RANGE, RESOURCE_NOT_FOUND where the number of its entry was lost.
    """
    if not partition.log_start <= offset < partition.high_watermark:
        raise RequestError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"partition {partition.index} has no message at offset {offset}: it has"
            f" {partition.log_start} to {partition.high_watermark - 1}",
        )
    ledgers = _ledgers_of(partition)
    found = yield from _between_marks(
        partition, lambda: ledgers.around_offset(offset, partition.high_watermark), offload
    )
    place = entry_at_offset(found, offset, ledgers)
    if place is None:
        raise _lost(f"the entry of offset {offset}")
    return _located(place, offset)


def ordinal_at(partition: Partition, offset: int, offload: Offload) -> Generator[Until, None, int | None]:
    """Find the number of the entry with an offset, over all ledgers of its stream; None if it was lost.

    Raises: RequestError.
    """
    ledgers = _ledgers_of(partition)
    found = yield from _between_marks(
        partition, lambda: ledgers.around_offset(offset, partition.high_watermark), offload
    )
    return next((ordinal for entry, ordinal in found if entry.base_offset == offset), None)


def place_of(
    partition: Partition, ledger_id: int, number: int, batch_index: int, offload: Offload
) -> Looking:
    """Find the offset of a message.

    Raises: RequestError: RESOURCE_NOT_FOUND where it was deleted, does not exist, or was lost.
    """
    ledgers = _ledgers_of(partition)
    known = ledgers.ledger(ledger_id)
    if known is None:
        newest = f"the newest is {ledgers.epoch}" if ledgers.ledgers else "it has none yet"
        problem = (
            "was deleted, or had no entries" if ledger_id < ledgers.epoch else f"has not begun: {newest}"
        )
        raise _missing(f"ledger {ledger_id} of partition {partition.index} {problem}")
    ledger, following = known
    if ledger.flags & Flags.UNNUMBERED:
        raise _lost(f"entry {number} of ledger {ledger_id}")
    end = ledgers.durable_ordinal if following is None else following.ordinal
    is_counted = following is None or not following.flags & Flags.UNCOUNTED
    if number < 0 or (is_counted and ledger.ordinal + number >= end):
        raise _missing(
            f"ledger {ledger_id} of partition {partition.index} has {end - ledger.ordinal} entries"
        )
    ordinal = ledger.ordinal + number
    found = yield from _between_marks(
        partition, lambda: ledgers.around_ordinal(ordinal, partition.high_watermark), offload
    )
    place = entry_at_ordinal(found, ordinal, ledger, ledgers)
    if place is None:
        first = next((each.ordinal for each in found if each.ordinal is not None), None)
        if not found or (first is not None and first > ordinal):
            raise _missing(f"entry {number} of ledger {ledger_id} was deleted")
        raise _lost(f"entry {number} of ledger {ledger_id}")
    return _checked(place, batch_index, partition)


def _checked(place: Place, batch_index: int, partition: Partition) -> Located:
    entry = place.entry
    offset = entry.base_offset + max(0, batch_index)
    if entry.weight > 1:
        return _located(place, entry.base_offset)
    if not NO_INDEX <= batch_index < entry.next_offset - entry.base_offset:
        raise _missing(
            f"entry {place.number} of ledger {place.ledger_id} has {entry.next_offset - entry.base_offset}"
            f" messages, none with batch index {batch_index}"
        )
    if offset < partition.log_start:
        raise _missing(f"the message at offset {offset} was deleted")
    return _located(place, offset)


def _located(place: Place, offset: int) -> Located:
    entry = place.entry
    is_alone = entry.next_offset - entry.base_offset == 1 or entry.weight > 1
    return Located(
        place.ledger_id,
        place.number,
        NO_INDEX if is_alone else offset - entry.base_offset,
        offset,
        entry.base_offset,
        entry.next_offset - 1,
        entry.weight == 1,
    )


def _ledgers_of(partition: Partition) -> Ledgers:
    found = partition.vnode.log.ledgers(partition.stream_id)
    if found is None:  # the topic was deleted while a long request was answered
        raise RequestError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition.index} has no batches any more"
        )
    return found


def _between_marks(
    partition: Partition, interval_of: Callable[[], Interval | None], offload: Offload
) -> Generator[Until, None, list[Numbered]]:
    log, stream_id = partition.vnode.log, partition.stream_id
    for _ in range(TRIES):
        interval, compaction = interval_of(), log.compaction(stream_id)
        if interval is None:
            return []
        try:
            entries = yield from _entries(partition, interval, offload)
        except OffsetOutOfRange:
            continue  # its beginning was deleted meanwhile
        except (WalError, DiskError) as error:
            raise storage_error(error) from error
        if log.compaction(stream_id) == compaction:
            return numbered(entries, interval)
    raise RequestError(ErrorCode.REQUEST_TIMED_OUT, "the messages are being deleted or compacted; ask again")


def _entries(
    partition: Partition, interval: Interval, offload: Offload
) -> Generator[Until, None, list[Entry]]:
    entries: list[Entry] = []
    offset = max(interval.offset, partition.log_start)
    while offset < interval.end_offset:
        read = partition.read(offset, CHUNK_BYTES)
        entries += yield from in_thread(
            offload,
            lambda parts=read.parts: _heads(parts, interval.end_offset),  # type: ignore[misc]
        )
        offset = read.next_offset
    return entries


def _heads(parts: list[Part], end_offset: int) -> list[Entry]:
    data = b"".join(part.read() if isinstance(part, FileRange) else part for part in parts)
    return list(entries_in(data, end_offset))


def _missing(what: str) -> RequestError:
    return RequestError(ErrorCode.RESOURCE_NOT_FOUND, what)


def _lost(what: str) -> RequestError:
    return _missing(f"the place of {what} is not known: a repair of the log has lost entries around it")
