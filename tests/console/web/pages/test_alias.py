"""Aliases of windows of time."""

from __future__ import annotations

import json

import pytest

from tests.broker.gateway import START_MS
from tests.console.web.pages.test_searching import flights


def test_an_alias_shows_the_window_alone() -> None:
    web = flights(200)
    query = f"from=@{START_MS + 50}&until=@{START_MS + 150}"
    page = web.get(f"/topics/flights/alias?{query}&name=morning&speed=60")
    assert f"kawal.from={START_MS + 50}" in page.text
    assert "kawal.replay.speed=60" in page.text
    assert web.get("/topics/morning").status == 404
    window = {"from": f"@{START_MS + 50}", "until": f"@{START_MS + 150}"}
    done = web.send("/topics/flights/alias", {"name": "morning", **window})
    assert done.status == 303
    rows = json.loads(web.get("/topics/morning/records?as=json").body)
    assert {row["timestamp_ms"] for row in rows} == {START_MS + 50, START_MS + 100}


def test_a_name_is_asked_for_first() -> None:
    page = flights(3).get("/topics/flights/alias?from=@5&until=@9")
    assert 'value="@5"' in page.html
    assert page.status == 200


@pytest.mark.parametrize(
    "query", ["from=-200", "until=yesterday", "speed=fast", "speed=-1", "until=-5", "from=1e9"]
)
def test_what_is_no_window_is_a_sentence(query: str) -> None:
    page = flights(3).get(f"/topics/flights/alias?name=a&{query}")
    assert page.status == 400
    assert page.problem


def test_what_the_broker_refuses_is_told() -> None:
    page = flights(3).get("/topics/flights/alias?name=a&from=5&until=@1700000000000")
    again = flights(3).get("/topics/absent/alias?name=a&from=5")
    assert page.status == 200
    assert again.problem


def test_offsets_bound_it_too() -> None:
    web = flights(200, partitions=1)
    assert web.send("/topics/flights/alias", {"name": "first", "from": "1", "until": "3"}).status == 303
    rows = json.loads(web.get("/topics/first/records?as=json").body)
    assert sorted(row["offset"] for row in rows) == [1, 2]
