"""The range of a page of records, out of its query."""

from __future__ import annotations

import pytest

from tests.broker.gateway import START_MS
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


@pytest.fixture
def web() -> Web:
    web = Web()
    create(web.broker.client(), "t", 2)
    for at in range(10):
        send(web.broker.client(), "t", batch(b"v%d" % at, timestamp_ms=START_MS + at), at % 2)
    return web


def offsets(web: Web, query: str) -> list[str]:
    import json

    rows = json.loads(web.get(f"/topics/t/records?as=json&{query}").body)
    return [f"{row['partition']}:{row['offset']}" for row in rows]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("p=1&from=3", ["1:3", "1:4"]),
        ("p=1&from=-2", ["1:4", "1:3"]),
        ("p=0&from=earliest&until=2", ["0:1", "0:0"]),
        (f"from=@{START_MS + 8}", ["0:4", "1:4"]),
        (f"from=@{START_MS + 2}&until=@{START_MS + 4}&order=oldest", ["0:1", "1:1"]),
        (f"from=@{START_MS + 9}&until=@{START_MS + 2}", []),
        ("at=0:1,1:0&order=newest", ["0:0"]),
        ("p=0&at=0:99&order=newest&from=4", ["0:4"]),
    ],
)
def test_positions_bound_what_is_shown(web: Web, query: str, expected: list[str]) -> None:
    assert offsets(web, query) == expected


@pytest.mark.parametrize(
    "query",
    ["from=yesterday", "until=soon", "p=a", "p=1,,2", "at=1", "at=0:x", "order=up", "from=" + "9" * 30],
)
def test_what_cannot_be_read_is_a_sentence(web: Web, query: str) -> None:
    page = web.get(f"/topics/t/records?{query}")
    assert page.status == 400
    assert page.problem


def test_partitions_that_do_not_exist_are_told(web: Web) -> None:
    assert web.get("/topics/t/records?p=7").problem == "topic 't' has no such partition with a leader"
