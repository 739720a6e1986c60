"""Pages of long lists."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from console.web.paging import page_of
from console.web.routes import Table
from console.web.visit import ROWS_MAX, Answer, View, Visit, get
from tests.console.web.kit import Web


def part(count: int, query: str) -> Any:
    found: list[Any] = []

    async def page(visit: Visit) -> Answer:
        await trio.lowlevel.checkpoint()
        found.append(page_of(visit, list(range(count))))
        return View(title="t", template="error.html", context={"sentence": "", "status": 200})

    assert Web(table=Table((get("/list", page),))).get(f"/list?{query}").status == 200
    return found[0]


def test_a_page_has_200_rows_and_the_addresses_of_those_beside_it() -> None:
    page = part(500, "q=a&skip=200")
    assert (page.items[0], len(page.items), page.first, page.total) == (200, ROWS_MAX, 201, 500)
    assert (page.before, page.after) == ("/list?q=a", "/list?q=a&skip=400")


@pytest.mark.parametrize(
    ("count", "query", "first"), [(0, "", 0), (5, "skip=200", 1), (400, "skip=99999", 201)]
)
def test_a_page_beyond_the_end_is_the_last(count: int, query: str, first: int) -> None:
    page = part(count, query)
    assert (page.first, page.after) == (first, "")
