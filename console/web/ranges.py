"""The range of offsets that a page of records is about: `from`, `until`, `p`, and where it goes on.

from, until    positions as on the command line: -200, earliest, 1234, 2024-05-01T12:00:00Z, @1714564800000
p              partitions, such as 0,3; all without it
order          newest or oldest first
at             where a further page begins: 0:1234,1:99
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from console.partition_offsets import Place as LedPlace
from console.partition_offsets import extents_of, leaders_of, offsets_of
from console.positions import Position, PositionKind, parse_position
from console.web.errors import PageError
from console.web.record_rows import Place
from console.web.visit import Visit

PARTITIONS_MAX: Final = 64
"""Partitions that are read for one page; more are chosen by `p`."""
ORDERS: Final = ("newest", "oldest")


class Asked(NamedTuple):
    """The records that a page is asked for."""

    topic: str
    position: str
    until: str
    partitions: tuple[int, ...]
    order: str
    at: Mapping[int, int]


class Range(NamedTuple):
    """The offsets of each partition between two positions."""

    leaders: Mapping[LedPlace, str]
    starts: Mapping[Place, int]
    ends: Mapping[Place, int]
    at: Mapping[Place, int]
    """Where the page begins: below it, or at it, as the order is."""
    left_out: int
    """Partitions that are not read."""


def asked_of(visit: Visit) -> Asked:
    """Return what a page's query asks for.  Raises: PageError, UsageError."""
    position, until = visit.query.one("from").strip(), visit.query.one("until").strip()
    is_place = position not in ("", "latest") and not position.startswith("-") and not until
    order = visit.query.choice("order", ORDERS[::-1] if is_place else ORDERS)
    for text, name in ((position, "from"), (until, "until")):
        if text:
            parse_position(text, name)
    partitions, at = _partitions(visit.query.one("p")), offsets_in(visit.query.one("at"))
    return Asked(visit.names["topic"], position, until, partitions, order, at)


def range_of(bootstrap: str, asked: Asked, *, committed: bool = False) -> Range:
    """Find the range at the brokers.  Raises: CommandError, PageError."""
    leaders = leaders_of(bootstrap, [asked.topic])
    places = [place for place in sorted(leaders) if not asked.partitions or place[1] in asked.partitions]
    if not places:
        raise PageError(404, f"topic {asked.topic!r} has no such partition with a leader")
    chosen = places[:PARTITIONS_MAX]
    extents = extents_of(leaders, chosen, committed=committed)
    starts = {Place(*place): extent.start for place, extent in extents.items()}
    ends = {Place(*place): extent.end for place, extent in extents.items()}
    position = _position(asked.position, "from")
    if position is not None and position.kind is not PositionKind.LATEST:
        starts = {Place(*place): offset for place, offset in offsets_of(leaders, chosen, position).items()}
    if (until := _position(asked.until, "until")) is not None:
        found = offsets_of(leaders, chosen, until)
        ends = {place: min(ends[place], found[place]) for place in ends}
    # The end of what is committed may lie before a place that was asked for.
    starts = {place: min(offset, ends[place]) for place, offset in starts.items()}
    begins = ends if asked.order == "newest" else starts
    at = {
        place: min(max(asked.at.get(place.partition, begins[place]), starts[place]), ends[place])
        for place in ends
    }
    return Range(leaders, starts, ends, at, len(places) - len(chosen))


def positions_text(offsets: Mapping[Place, int]) -> str:
    """Return offsets as `at` has them."""
    return ",".join(f"{place.partition}:{offset}" for place, offset in sorted(offsets.items()))


def offsets_in(text: str) -> dict[int, int]:
    """Read `0:1234,1:99`.  Raises: PageError."""
    if not re.fullmatch(r"([0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18})*)?", text):
        raise PageError(400, f"at is {text[:40]!r}; it must be offsets by partition, such as 0:1234,1:99")
    pairs = (pair.split(":") for pair in text.split(",") if pair)
    return {int(partition): int(offset) for partition, offset in pairs}


def _position(text: str, name: str) -> Position | None:
    return parse_position(text, name) if text else None


def _partitions(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\s*([0-9]{1,9}(\s*,\s*[0-9]{1,9})*)?\s*", text):
        raise PageError(400, f"p is {text[:40]!r}; it must be numbers of partitions, such as 0,3")
    return tuple(int(number) for number in text.split(",") if number.strip())
