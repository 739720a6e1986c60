"""The parts that pages of records share: their columns, their histogram and their rows for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from console.errors import CommandError
from console.web.cells import COLUMNS_MAX, exact
from console.web.fields import with_query
from console.web.histogram import histogram_of
from console.web.kept_bars import KeptBars, TimeBar
from console.web.looks import Look, RecordRow
from console.web.ranges import Range
from console.web.sources import Source
from console.web.statements import named_columns
from console.web.visit import Rows, Visit

COLUMNS: Final = ("partition", "offset", "timestamp_ms", "key", "key_size", "value", "value_size", "headers")


class BarLink(NamedTuple):
    """A bar of the histogram: where it leads, and what it says."""

    to: str
    offsets: int
    begin_ms: int
    end_ms: int


def columns_of(visit: Visit, source: Source) -> tuple[str, ...]:
    """Return the columns of the table: those of `cols`, or the declared ones."""
    if chosen := named_columns(visit.query.one("cols")):
        return chosen[:COLUMNS_MAX]
    return tuple(source.columns.names[:COLUMNS_MAX]) if source.columns else ()


def look_of(visit: Visit, source: Source) -> Look:
    """Return how a page shows the records of a source."""
    return Look(source.mask, columns_of(visit, source))


def bars_of(span: Range, kept: KeptBars) -> list[TimeBar]:
    """Return the histogram; none when the broker does not tell, as the records are what is asked for."""
    try:
        return histogram_of(span, kept)
    except CommandError:
        return []


def bar_links(visit: Visit, bars: Sequence[TimeBar]) -> list[BarLink]:
    """Return the bars with links to the records of their time."""
    return [
        BarLink(
            visit.here(from_=f"@{bar.begin_ms}", until=f"@{bar.end_ms}", at=None, order="oldest"),
            bar.offsets,
            bar.begin_ms,
            bar.end_ms,
        )
        for bar in bars
    ]


def alias_link(path: str, bars: Sequence[TimeBar]) -> str:
    """Return the address of the plan for an alias of the time that a histogram shows."""
    return with_query(path, from_=f"@{bars[0].begin_ms}", until=f"@{bars[-1].end_ms}") if bars else ""


def rows_of(rows: Sequence[RecordRow], columns: Sequence[str]) -> Rows:
    """Return records for programs; a member is a column of its own after `value.`."""
    return Rows(
        (*COLUMNS, *(f"value.{name}" for name in columns)),
        [
            (*row[:7], [list(header) for header in row.headers], *(exact(cell) for cell in row.cells))
            for row in rows
        ],
    )
