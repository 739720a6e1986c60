"""One topic."""

from __future__ import annotations

import json

from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


def test_its_partitions_and_settings_are_shown() -> None:
    web = Web()
    create(web.broker.client(), "t", partitions=2, retention_ms="86400000")
    send(web.broker.client(), "t", batch(b"a", b"b"), 1)
    page = web.get("/topics/t")
    assert "2 partitions, 2 records" in page.text
    assert "retention.ms 86400000 topic" in page.text
    assert page.links("1")[0] == "/topics/t/records?p=1"
    assert [row["end"] for row in json.loads(web.get("/topics/t?as=json").body)] == [0, 2]


def test_records_of_a_view_are_not_counted_by_offsets() -> None:
    web = Web()
    create(web.broker.client(), "t")
    create(web.broker.client(), "v", kawal_sql="SELECT * FROM t")
    assert "offsets are those of its source" in web.get("/topics/v").text


def test_one_that_does_not_exist_is_a_sentence() -> None:
    page = Web().get("/topics/a%2Fb%E2%80%AE")
    assert page.status == 404
    assert "\\u202e" in page.problem
