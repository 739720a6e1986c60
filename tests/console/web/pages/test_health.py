"""The health of a broker in a browser."""

from __future__ import annotations

import json

from tests.console.web.kit import Web


def test_a_broker_that_answers_is_told_with_its_address() -> None:
    web = Web()
    page = web.get("/health")
    assert page.status == 200
    assert "answers" in page.text
    assert "It is Kawal." in page.text
    (row,) = json.loads(web.get("/health?as=json").body)
    assert row["answers"] is True
    assert row["apis"] > 50


def test_a_broker_that_is_away_is_503_with_what_to_do_and_heals() -> None:
    web = Web()
    web.away = True
    page = web.get("/health")
    assert (page.status, "cannot reach" in page.problem) == (503, True)
    assert "The console runs" in page.text
    assert "kawal doctor" in page.text
    assert web.get("/health?as=json").status == 503
    web.away = False
    assert web.get("/health").status == 200


def test_it_is_asked_by_a_console_that_is_read_only() -> None:
    assert Web(read_only=True).get("/health").status == 200
