"""Databases in a browser."""

from __future__ import annotations

import json

import pytest

from console.web.pages import databases
from console.wire import NotKawal
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


def test_each_database_is_a_row_with_what_is_in_it() -> None:
    web = Web()
    create(web.broker.client(), "t")
    send(web.broker.client(), "t", batch(b"a"))
    (row,) = [row for row in json.loads(web.get("/databases?as=json").body) if row["topics"]]
    assert (row["topics"], row["views"]) == (1, 0)
    assert row["vnodes"] >= 1
    assert web.get("/databases").links(row["name"]) == [f"/databases/{row['name']}"]


def test_one_has_its_vnodes_and_settings() -> None:
    web = Web()
    create(web.broker.client(), "t")
    name = json.loads(web.get("/databases?as=json").body)[0]["name"]
    page = web.get(f"/databases/{name}")
    assert page.status == 200
    assert "durability" in page.text
    vnodes = json.loads(web.get(f"/databases/{name}?as=json").body)
    assert vnodes
    assert all(row["next_version"] >= row["first_version"] for row in vnodes)


def test_one_that_is_not_there_is_a_sentence() -> None:
    page = Web().get("/databases/none")
    assert (page.status, page.problem) == (404, "there is no database 'none'")


def test_another_broker_has_none_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> object:
        raise NotKawal("closed")

    monkeypatch.setattr(databases, "do", closed)
    assert "This broker has no databases" in Web().get("/databases").text
    assert Web().get("/databases/d").status == 404
