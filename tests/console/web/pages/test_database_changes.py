"""Databases made, changed and removed in a browser."""

from __future__ import annotations

import json

import pytest

from console.web.pages import databases
from console.wire import NotKawal
from protocol.messages.kawal_databases import KawalDatabasesRequest
from tests.broker.kit import create
from tests.console.web.kit import Web


def names(web: Web) -> list[str]:
    return [row["name"] for row in json.loads(web.get("/databases?as=json").body)]


def test_a_new_one_is_tried_first_and_then_made() -> None:
    web = Web()
    page = web.get("/new/database?name=d&vnodes=2&config=retention.ms%3D86400000")
    assert "kawal databases create d --vnodes 2 --config retention.ms=86400000" in page.text
    assert "The broker would take it as it is." in page.text
    assert "d" not in names(web)
    assert web.post("/new/database", name="d", vnodes="2", config="retention.ms=86400000").status == 303
    (row,) = [row for row in json.loads(web.get("/databases?as=json").body) if row["name"] == "d"]
    assert (row["vnodes"], row["retention_ms"]) == (2, "86400000")


def test_what_the_broker_would_refuse_has_its_sentence_and_no_button() -> None:
    page = Web().get("/new/database?name=d&config=no.such.setting%3D1")
    assert "no.such.setting" in page.problem
    assert 'method="post"' not in page.html


def test_settings_show_what_they_were_and_are_changed_and_taken_back() -> None:
    web = Web()
    web.post("/new/database", name="d", config="retention.ms=86400000")
    page = web.get("/databases/d/alter?config=retention.ms%3D3600000")
    assert "kawal databases alter d --config retention.ms=3600000" in page.text
    assert "86400000 3600000" in page.text
    assert web.post("/databases/d/alter", config="retention.ms=3600000").status == 303
    assert "3600000" in web.get("/databases/d").text
    page = web.get("/databases/d/alter?unset=retention.ms")
    assert "--unset retention.ms" in page.text
    assert web.post("/databases/d/alter", unset="retention.ms").status == 303
    assert "3600000" not in web.get("/databases/d").text


def test_a_change_of_nothing_is_a_sentence() -> None:
    web = Web()
    web.post("/new/database", name="d")
    assert web.post("/databases/d/alter").status == 400


def test_an_empty_one_is_dropped_by_its_name_and_a_full_one_is_not() -> None:
    web = Web()
    web.post("/new/database", name="d")
    assert "kawal databases drop d" in web.get("/databases/d/drop").text
    assert web.post("/databases/d/drop", confirm="e").status == 400
    assert "d" in names(web)
    assert web.post("/databases/d/drop", confirm="d").status == 303
    assert "d" not in names(web)
    create(web.broker.client(), "t")
    page = web.get("/databases/default/drop")
    assert page.problem == "it has 1 topic and 0 views; delete them first"
    assert 'method="post"' not in page.html


def test_a_read_only_console_sends_no_change_and_no_dry_run() -> None:
    web = Web(read_only=True)
    page = web.get("/new/database?name=d")
    assert (page.status, 'method="post"' in page.html) == (200, False)
    assert web.post("/new/database", name="d").status == 403
    assert all(not r.action for r in web.sent if isinstance(r, KawalDatabasesRequest))


def test_another_broker_has_none_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> object:
        raise NotKawal("closed")

    monkeypatch.setattr(databases, "do", closed)
    assert "it is not Kawal" in Web().get("/databases/d/alter").problem
    assert "it is not Kawal" in Web().get("/databases/d/drop").problem
