"""The choice of records for a share group that looks at their headers.

Only groups with such settings pay for it: the batches that a fetch would deliver are opened in a thread, and
what is left of them is told to the share-partition.  A batch that cannot be read is delivered as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from broker.config.header_filter import HeaderFilter, parse_filter
from broker.coordinators.group_settings import QueueSettings
from groups.share.found import Later
from protocol.errors import ProtocolError
from protocol.record_reader import Record, iter_records

logger = logging.getLogger("kawal.broker")

SCAN_BYTES_MAX: Final = 4 << 20
"""The bytes that one pass of a fetch looks at: it answers, or waits its turn, before it looks at more."""


class Choice(NamedTuple):
    """The settings of a group, ready for use."""

    filter: HeaderFilter | None


class Chosen(NamedTuple):
    """The records of some batches for delivery, as ranges of offsets; the others are not delivered."""

    ranges: list[tuple[int, int]]
    later: list[Later]


@lru_cache(maxsize=256)
def choice_of(settings: QueueSettings) -> Choice | None:
    """Return what a group's settings choose by; None if that is nothing."""
    if not settings.chooses:
        return None
    return Choice(parse_filter(settings.filter) if settings.filter else None)


def choose(batches: Sequence[memoryview], offsets: Sequence[tuple[int, int]], choice: Choice) -> Chosen:
    """Return what a group is given of these batches, whose first and last offsets are these; for a thread."""
    ranges: list[tuple[int, int]] = []
    later: list[Later] = []
    for batch, (first, last) in zip(batches, offsets, strict=True):
        try:
            chosen = [record.offset for record in iter_records(batch) if _is_chosen(record, choice)]
        except ProtocolError as error:
            logger.error("a share group does not look into the batch at offset %d: %s", first, error)
            ranges.append((first, last))
            continue
        start = len(ranges)
        for offset in chosen:
            if len(ranges) > start and ranges[-1][1] == offset - 1:
                ranges[-1] = (ranges[-1][0], offset)
            else:
                ranges.append((offset, offset))
    return Chosen(ranges, later)


def _is_chosen(record: Record, choice: Choice) -> bool:
    return choice.filter is None or choice.filter.chooses(record.headers)
