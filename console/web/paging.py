"""Pages of long lists: at most ROWS_MAX rows, and where the next ones are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from console.web.visit import ROWS_MAX, Visit

Item = TypeVar("Item")


class PageOf(NamedTuple, Generic[Item]):
    """A part of a list, and the addresses of the parts beside it; "" where there is none."""

    items: Sequence[Item]
    first: int
    total: int
    before: str
    after: str


def page_of(visit: Visit, items: Sequence[Item]) -> PageOf[Item]:
    """Return the part of a list that `?skip=` asks for.  Raises: PageError."""
    skip = visit.query.number("skip", 0, low=0, high=1 << 40)
    skip = min(skip, max(0, len(items) - 1) // ROWS_MAX * ROWS_MAX)
    before = visit.here(skip=max(0, skip - ROWS_MAX) or None) if skip else ""
    after = visit.here(skip=skip + ROWS_MAX) if skip + ROWS_MAX < len(items) else ""
    return PageOf(items[skip : skip + ROWS_MAX], skip + 1 if items else 0, len(items), before, after)
