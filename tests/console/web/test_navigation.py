"""The pages that every page leads to."""

from __future__ import annotations

import re

from console.web.navigation import PLACES
from console.web.routes import ROUTES, Table
from tests.broker.kit import create
from tests.console.web.kit import Web


def test_they_exist_and_their_keys_differ() -> None:
    table = Table(ROUTES)
    assert [place.path for place in PLACES if table.find("GET", place.path) is None] == []
    assert len({place.key for place in PLACES}) == len(PLACES)
    assert all(len(place.key) == 1 for place in PLACES)


def test_the_tabs_of_a_topic_lead_to_pages_that_exist() -> None:
    web = Web()
    create(web.broker.client(), "orders")
    table, page = Table(ROUTES), web.get("/topics/orders")
    bar = page.html.partition('class="tabs"')[2].partition("</nav>")[0]
    tabs = re.findall(r'href="(/topics/orders[^"?]*)"', bar)
    assert len(tabs) > 3
    assert [path for path in tabs if table.find("GET", path) is None] == []
