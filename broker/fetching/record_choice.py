"""The choice of records for a share group that looks at their headers.

    kawal-deliver-at    ms since 1970: not delivered before
    kawal-delay-ms      the same, counted from the record's timestamp
    kawal-priority      its class; larger ones are given out first
    kawal-expires-at    ms since 1970: not delivered from then on; nor is one as old as kawal.share.ttl.ms

Values are decimal numbers in text; what is no such number counts as absent.  Only groups with such settings
pay for it: the batches that a fetch would deliver are opened in a thread, and what is left of them is told to
the share-partition.  A batch that cannot be read is delivered as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from broker.config.header_filter import HeaderFilter, parse_filter
from broker.coordinators.share_settings import QueueSettings
from groups.share.found import Later
from protocol.errors import ProtocolError
from protocol.record_reader import Record, iter_records

logger = logging.getLogger("kawal.broker")

SCAN_BYTES_MAX: Final = 4 << 20
"""The bytes that one pass of a fetch looks at: it answers, or waits its turn, before it looks at more."""

DELIVER_AT: Final = "kawal-deliver-at"
DELAY: Final = "kawal-delay-ms"
EXPIRES_AT: Final = "kawal-expires-at"
PRIORITY: Final = "kawal-priority"
_TIMES: Final = frozenset({DELIVER_AT, DELAY, EXPIRES_AT})

DIGITS_MAX: Final = 15
"""The digits of a time: enough until the year 33658."""


class Choice(NamedTuple):
    """The settings of a group, ready for use."""

    filter: HeaderFilter | None
    is_timed: bool
    classes: int = 0


class Moment(NamedTuple):
    """The present, on both clocks, and the age at which the topic's records expire (-1: never)."""

    now_ms: int
    wall_ms: int
    ttl_ms: int = -1


class Chosen(NamedTuple):
    """The records of some batches for delivery, for later, and expired; the others are left out."""

    ranges: list[tuple[int, int]]
    later: list[Later]
    expired: list[tuple[int, int]]


@lru_cache(maxsize=256)
def choice_of(settings: QueueSettings) -> Choice | None:
    """Return what a group's settings choose by; None if that is nothing."""
    if not settings.chooses:
        return None
    found = parse_filter(settings.filter) if settings.filter else None
    return Choice(found, settings.is_timed, settings.classes)


def choose(
    batches: Sequence[memoryview], offsets: Sequence[tuple[int, int]], choice: Choice, moment: Moment
) -> Chosen:
    """Return what a group is given of these batches, whose first and last offsets are these; for a thread."""
    chosen = Chosen([], [], [])
    for batch, (first, last) in zip(batches, offsets, strict=True):
        try:
            records = list(iter_records(batch))
        except ProtocolError as error:
            logger.error("a share group does not look into the batch at offset %d: %s", first, error)
            chosen.ranges.append((first, last))
            continue
        begins = len(chosen.ranges)
        for record in records:
            if choice.filter is None or choice.filter.chooses(record.headers):
                _add(chosen, record, moment, choice, begins)
    return chosen


def _add(chosen: Chosen, record: Record, moment: Moment, choice: Choice, begins: int) -> None:
    """Add a record to those of its kind; ranges for delivery do not cross the batch, which begins there."""
    offset = record.offset
    due_ms, is_expired = _timed(record, moment) if choice.is_timed else (0, False)
    priority = _class_of(record, choice.classes) if choice.classes > 1 else 0
    if is_expired:
        _extend(chosen.expired, offset, 0)
    elif due_ms or choice.classes > 1:
        until_ms = moment.now_ms + due_ms - moment.wall_ms if due_ms else 0
        newest = chosen.later[-1] if chosen.later else None
        if newest is not None and (newest.last, *newest[2:]) == (offset - 1, until_ms, priority):
            chosen.later[-1] = newest._replace(last=offset)
        else:
            chosen.later.append(Later(offset, offset, until_ms, priority))
    else:
        _extend(chosen.ranges, offset, begins)


def _extend(ranges: list[tuple[int, int]], offset: int, begins: int) -> None:
    if len(ranges) > begins and ranges[-1][1] == offset - 1:
        ranges[-1] = (ranges[-1][0], offset)
    else:
        ranges.append((offset, offset))


def _timed(record: Record, moment: Moment) -> tuple[int, bool]:
    """Return when a record is due (ms since 1970; 0: now), and whether it has expired."""
    ttl_ms, written_ms = moment.ttl_ms, record.timestamp_ms
    if ttl_ms >= 0 and written_ms >= 0 and moment.wall_ms - written_ms >= ttl_ms:
        return 0, True
    if not record.headers:
        return 0, False
    times = {name: _number(value) for name, value in record.headers if name in _TIMES}
    if not times:
        return 0, False
    expires_ms = times.get(EXPIRES_AT)
    if expires_ms is not None and moment.wall_ms >= expires_ms:
        return 0, True
    due_ms, delay_ms = times.get(DELIVER_AT), times.get(DELAY)
    if due_ms is None and delay_ms is not None and written_ms >= 0:
        due_ms = written_ms + delay_ms
    return (due_ms, False) if due_ms is not None and due_ms > moment.wall_ms else (0, False)


def _class_of(record: Record, classes: int) -> int:
    found = next((_number(value) for name, value in record.headers if name == PRIORITY), None)
    return min(found or 0, classes - 1)


def _number(value: bytes | None) -> int | None:
    text = value or b""
    return int(text) if text.isdigit() and len(text) <= DIGITS_MAX else None
