"""A topic's settings, and their change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.broker.kit import create
from tests.console.web.kit import Web


@pytest.fixture
def web() -> Web:
    found = Web()
    create(found.broker.client(), "t", segment_bytes="1048576", retention_ms="86400000")
    return found


def setting(web: Web, name: str) -> dict[str, Any]:
    rows = json.loads(web.get("/topics/t/config?as=json").body)
    return next(row for row in rows if row["name"] == name)


def test_what_differs_from_the_default_comes_first_with_the_default_beside_it(web: Web) -> None:
    rows = json.loads(web.get("/topics/t/config?as=json").body)
    assert [row["name"] for row in rows if row["differs"]] == ["retention.ms", "segment.bytes"]
    assert [row["differs"] for row in rows[:3]] == [True, True, False]
    assert rows[1]["beneath"] == "log.segment.bytes=1073741824"
    assert "segment.bytes 1048576 log.segment.bytes=1073741824 topic" in web.get("/topics/t/config").text


def test_a_setting_is_edited_in_a_form_with_its_value(web: Web) -> None:
    page = web.get("/topics/t/config?edit=retention.ms")
    assert ">86400000</textarea>" in page.html
    assert web.get("/topics/t/config?edit=x").status == 404


def test_a_change_is_shown_before_it_is_made(web: Web) -> None:
    page = web.get("/topics/t/config?name=retention.ms&value=1000")
    assert "retention.ms 86400000 1000" in page.text
    assert "kawal topics alter t --config retention.ms=1000" in page.text
    assert setting(web, "retention.ms")["value"] == "86400000"
    assert web.post("/topics/t/config", name="retention.ms", value="1000").status == 303
    assert setting(web, "retention.ms")["value"] == "1000"


def test_a_setting_goes_back_to_its_default(web: Web) -> None:
    page = web.get("/topics/t/config?name=retention.ms&action=default")
    assert "retention.ms 86400000 the default" in page.text
    assert "kawal topics alter t --delete-config retention.ms" in page.text
    assert web.post("/topics/t/config", name="retention.ms", action="default").status == 303
    assert not setting(web, "retention.ms")["differs"]


def test_a_value_that_the_broker_refuses_is_its_sentence_without_a_button(web: Web) -> None:
    for query in ("name=retention.ms&value=long", "name=no.such&value=1"):
        page = web.get(f"/topics/t/config?{query}")
        assert page.problem
        assert "<button>Change" not in page.html
    assert "retention.ms" in web.post("/topics/t/config", name="retention.ms", value="long").problem
    assert setting(web, "retention.ms")["value"] == "86400000"


def test_read_only_shows_settings_and_sends_no_dry_run() -> None:
    web = Web(read_only=True)
    create(web.broker.client(), "t")
    assert web.get("/topics/t/config").links("retention.ms") == []
    page = web.get("/topics/t/config?name=retention.ms&value=1000")
    assert page.status == 200
    assert "<button>Change" not in page.html


def test_a_topic_that_is_not_there_is_a_sentence() -> None:
    assert "topic 'x'" in Web().get("/topics/x/config").problem
