"""The first record of each range of a queue, read by ordinary fetches: nothing is acquired."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from console.errors import CommandError
from console.link import LinkLost
from console.web.looks import Look, RecordRow
from console.web.masks import Masks
from console.web.record_rows import Budget, Place, whole_record
from console.web.sources import source_of

RECORDS_MAX: Final = 50
"""Ranges of a page whose first record is read: each is a request."""


class Range(NamedTuple):
    """Offsets of a partition, up to and including `last`."""

    topic: str
    partition: int
    first: int
    last: int


class FirstRecords(NamedTuple):
    """The records that were read, by their range, and why others were not."""

    rows: dict[Range, RecordRow]
    problems: dict[str, str]
    """By topic."""


def first_records(
    bootstrap: str, ranges: Iterable[Range], masks: Masks, budget: Budget | None = None
) -> FirstRecords:
    """Return the first records, as far as time and rights reach.  Raises: LinkLost."""
    found = FirstRecords({}, {})
    budget = budget or Budget()
    looks: dict[str, Look] = {}
    for wanted in ranges:
        if len(found.rows) >= RECORDS_MAX or budget.spent:
            break
        if wanted.topic in found.problems:
            continue
        try:
            look = looks.get(wanted.topic)
            if look is None:
                look = looks[wanted.topic] = Look(source_of(bootstrap, wanted.topic, masks).mask)
            place = Place(wanted.topic, wanted.partition)
            record = whole_record(bootstrap, place, wanted.first, wanted.last + 1, budget)
        except LinkLost:
            raise
        except CommandError as error:
            found.problems[wanted.topic] = str(error)
            continue
        if record is not None:
            budget.take([record])
            found.rows[wanted] = look.row(wanted.partition, record)
    return found
