"""Statements tried on the newest records of their topic."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.web.errors import PageError
from console.web.masks import Masks, parse_mask
from console.web.preview import Preview, preview_bounds, preview_of
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web
from tests.console.web.pages.test_searching import flights


def preview(web: Web, text: str, *masks: str) -> Preview:
    with web.at_work():
        return preview_of(ADDRESS, text, Masks(map(parse_mask, masks)), preview_bounds())


def test_the_newest_records_are_looked_at() -> None:
    web = Web()
    create(web.broker.client(), "t", kawal_columns="n bigint")
    for first in range(0, 12_000, 4_000):
        send(web.broker.client(), "t", batch(*(b'{"n":%d}' % n for n in range(first, first + 4_000))))
    found = preview(web, "SELECT n FROM t WHERE n < 2500").found
    assert found is not None
    assert (found.looked, found.matched) == (10_000, 500)
    assert found.matched_bytes < found.batch_bytes


def test_the_columns_are_those_of_the_result() -> None:
    assert preview(flights(3), "SELECT carrier AS c, delay FROM flights").columns == ("c", "delay")
    assert preview(flights(3), "SELECT * FROM flights").columns == ("id", "carrier", "delay")


def test_a_whole_statement_names_its_topic() -> None:
    found = preview(flights(3), "CREATE TOPIC late AS SELECT * FROM flights -- all\n WHERE delay > 15;")
    assert (found.topic, found.definition) == ("late", "SELECT * FROM flights WHERE delay > 15")


def test_what_is_made_of_masked_records_is_refused() -> None:
    with pytest.raises(PageError, match="is masked"):
        preview(flights(3), "SELECT upper(carrier) AS c FROM flights", "flights:carrier")


def test_records_that_stay_as_they_are_stay_masked() -> None:
    found = preview(flights(3), "SELECT * FROM flights", "flights:carrier").found
    assert found is not None
    assert all(b"TP" not in (row.value or b"") for row in found.rows)


def test_a_broker_that_is_away_is_no_mistake_of_the_statement() -> None:
    web = flights(3)
    web.away = True
    with pytest.raises(CommandError, match="cannot reach"):
        preview(web, "SELECT * FROM flights")
