"""Sample flights, loaded from the overview of a broker that has nothing."""

from __future__ import annotations

import json

import pytest

from console.record_formats import load_json
from console.web.pages import sample
from console.web.sample_flights import RECORDS
from tests.broker.gateway import START_MS
from tests.broker.kit import create
from tests.console.web.kit import Web


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the console the time of the broker in memory."""
    monkeypatch.setattr(sample, "_now_ms", lambda: START_MS)


def test_an_empty_broker_leads_to_them_and_a_click_stores_them() -> None:
    web = Web()
    (path,) = web.get("/").links("load sample flights")
    assert "2,000 records" in web.get(path).text
    done = web.post("/new/sample")
    assert done.status == 303
    assert "loaded 2,000 sample flights" in web.get(done.headers["location"]).text
    parts = json.loads(web.get("/topics/flights?as=json").body)
    assert sum(row["end"] for row in parts) == RECORDS
    assert web.get("/").links("load sample flights") == []
    found = web.get("/topics/flights/records?where=delay+%3E+60&as=json")
    assert json.loads(found.body)


def test_a_topic_of_the_name_is_left_alone() -> None:
    web = Web()
    create(web.broker.client(), "flights")
    page = web.get("/new/sample")
    assert "flights" in page.problem
    assert 'method="post"' not in page.html
    assert web.post("/new/sample").status >= 400
    (row,) = json.loads(web.get("/topics/flights?as=json").body)
    assert row["end"] == 0


def test_a_read_only_console_does_not_offer_them_and_refuses() -> None:
    web = Web(read_only=True)
    assert web.get("/").links("load sample flights") == []
    assert web.get("/new/sample").status == 200
    assert web.post("/new/sample").status == 403


def test_the_file_has_lines_as_kawal_produce_takes_them() -> None:
    data = Web().get("/new/sample/flights").body
    lines = [line for line in data.splitlines() if line.startswith(b"{")]
    assert len(lines) == RECORDS
    record = load_json(lines[0], "line 1")
    assert record.key is not None
    assert json.loads(record.value or b"")["id"] == 1
    assert record.timestamp_ms is not None
