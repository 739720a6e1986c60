"""Searches: what is found, what is told about it, and where the next page goes on."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from console.web.masks import Masks, parse_mask
from tests.broker.gateway import START_MS
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Answered, Web

COLUMNS = "id bigint, carrier string, delay int"


def flights(count: int = 600, *, per_batch: int = 50, partitions: int = 2, **settings: object) -> Web:
    """Return a console beside a topic of flights: every third one is late."""
    web = Web(**settings)  # type: ignore[arg-type]
    client = web.broker.client()
    create(client, "flights", partitions, kawal_columns=COLUMNS)
    for first in range(0, count, per_batch):
        values = [
            b'{"id":%d,"carrier":"TP","delay":%d}' % (9_007_199_254_740_993 + number, 20 * (number % 3 == 0))
            for number in range(first, min(first + per_batch, count))
        ]
        data = batch(*values, timestamp_ms=START_MS + first)
        send(client, "flights", data, first // per_batch % partitions)
    return web


def search(web: Web, where: str, **more: str) -> Answered:
    query = "".join(f"&{name.rstrip('_')}={quote(value)}" for name, value in more.items())
    return web.get(f"/topics/flights/records?where={quote(where)}{query}")


def found(web: Web, where: str, **more: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(search(web, where, as_="json", **more).body)
    return rows


def test_a_search_says_how_much_was_looked_at_and_found() -> None:
    page = search(flights(), "delay > 15")
    assert page.status == 200
    assert "600 of 600 looked at, 200 found." in page.text


def test_the_members_of_columns_are_cells_with_all_their_digits() -> None:
    rows = found(flights(), "id = 9007199254740996")
    assert [(row["value.id"], row["value.carrier"], row["value.delay"]) for row in rows] == [
        (9007199254740996, "TP", 20)
    ]
    assert "9007199254740996" in search(flights(), "delay > 15", cols="id, delay").text


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_all_pages_together_have_every_match_once(order: str) -> None:
    web = flights(1500)
    seen: list[tuple[int, int]] = []
    path = f"/topics/flights/records?where=delay%20%3E%2015&order={order}"
    for _ in range(10):
        page = web.get(path)
        seen += [(row["partition"], row["offset"]) for row in json.loads(web.get(f"{path}&as=json").body)]
        links = page.links("the next matches →") + page.links("look further →")
        if not links:
            break
        path = links[0]
    assert len(seen) == len(set(seen)) == 500


def test_the_newest_come_first() -> None:
    times = [row["timestamp_ms"] for row in found(flights(), "delay > 15")]
    assert times == sorted(times, reverse=True)  # type: ignore[type-var]


def test_a_mistake_is_a_sentence_at_its_place() -> None:
    page = search(flights(), "delay > 15 AND dely < 3")
    assert page.status == 400
    assert "delay &gt; 15 AND dely &lt; 3\n               ^</pre>" in page.html
    assert "column 'dely' is unknown; the source declares id, carrier, delay" in page.text


@pytest.mark.parametrize(
    "where",
    [
        "1 = 1) OR (2 = 2",
        "delay > 1; DROP TOPIC flights",
        "delay > 1 GROUP BY carrier",
        "delay > 1 UNION SELECT * FROM flights",
        "delay > (SELECT 1)",
        "delay > '\x00'",
        "'" * 99,
        "(" * 500,
        "carrier MATCH '(a+)+$'" * 20,
        "delay > 1 LIMIT 5",
        "é" * 3000,
        "--",
    ],
)
def test_a_hostile_condition_is_a_sentence(where: str) -> None:
    page = search(flights(10), where)
    assert page.status == 400
    assert 'class="problem"' in page.html


def test_a_topic_without_columns_is_searched_by_what_every_record_has() -> None:
    web = Web()
    client = web.broker.client()
    create(client, "flights")
    send(client, "flights", batch(b"\xff\x00", b"text", key=b"k"))
    assert [row["offset"] for row in found(web, "_offset = 1")] == [1]
    page = search(web, "delay > 1")
    assert page.status == 400
    assert "let its records propose some" in page.text


def test_a_search_for_tags_is_left_to_the_server() -> None:
    web = Web()
    create(web.broker.client(), "flights", kawal_columns="delay int, site string tag")
    page = search(web, "site = 'LIS'")
    assert "Only the server knows those" in page.text
    (link,) = page.links("Save as topic")
    assert link.startswith("/new/view?sql=SELECT+%2A+FROM+%60flights%60")


def test_a_search_becomes_the_statement_of_a_topic() -> None:
    page = search(flights(), "delay > 15", cols="carrier, delay")
    (link,) = page.links("Save as topic")
    assert link == ("/new/view?sql=SELECT+carrier%2C+delay+FROM+%60flights%60+WHERE%0Adelay+%3E+15")


def test_records_between_two_times_are_searched_alone() -> None:
    web = flights()
    rows = found(web, "delay > 15", from_=f"@{START_MS + 100}", until=f"@{START_MS + 200}")
    assert {row["timestamp_ms"] for row in rows} == {START_MS + 100, START_MS + 150}


def test_unfit_records_come_with_their_reasons() -> None:
    web = flights(10)
    send(web.broker.client(), "flights", batch(b'{"delay":"late"}', b"no json", b'{"id":1}'))
    page = web.get("/topics/flights/unfit")
    assert "13 of 13 looked at, 2 found" in page.text
    assert "delay: expected int, got a string" in page.text
    assert "not JSON" in page.text


class TestMasks:
    """Nothing that is masked is in the bytes that are sent."""

    def masked(self, *masks: str) -> Web:
        web = flights(6, masks=Masks(map(parse_mask, masks)))
        send(web.broker.client(), "flights", batch(b'{"id":7,"carrier":"SECRET","delay":99}', key=b"SECRET"))
        return web

    def test_a_column_is_masked_wherever_it_is_shown(self) -> None:
        web = self.masked("flights:carrier", "flights:key")
        for path in (
            "records",
            "records?where=delay%20%3E%2050",
            "records?where=delay%20%3E%2050&as=json",
            "records?cols=carrier&as=csv",
            "records/0/6",
            "records/0/6?as=jsonl",
            "unfit",
        ):
            page = web.get(f"/topics/flights/{path}")
            assert page.status == 200
            assert b"SECRET" not in page.body
            assert path == "unfit" or b"(masked)" in page.body

    def test_a_masked_column_is_not_searched_for(self) -> None:
        web = self.masked("flights:carrier")
        page = search(web, "Carrier LIKE 'S%'")
        assert page.status == 403
        assert "carrier is masked" in page.text
        assert search(web, "delay > 50").status == 200

    def test_a_masked_key_is_not_searched_for(self) -> None:
        web = self.masked("flights:key")
        assert search(web, "_key = 'SECRET'").status == 403
        assert search(web, "tbname = 'SECRET'").status == 403

    def test_a_masked_part_is_not_downloaded(self) -> None:
        web = self.masked("flights:carrier", "flights:key")
        for part in ("key", "value"):
            page = web.get(f"/topics/flights/records/0/6/{part}")
            assert page.status == 403
            assert b"SECRET" not in page.body

    def test_views_and_aliases_have_the_masks_of_their_source(self) -> None:
        web = self.masked("flights:carrier", "flights:key")
        client = web.broker.client()
        create(client, "renamed", -1, kawal_sql="SELECT carrier AS c, delay FROM flights")
        create(client, "all", -1, kawal_sql="SELECT * FROM flights")
        create(client, "named", -1, kawal_sql="SELECT delay FROM flights WHERE carrier = 'SECRET'")
        create(client, "other", -1, kawal_alias_of="flights")
        create(client, "database", -1, kawal_sql="DATABASE default")
        for topic in ("renamed", "all", "other", "named", "database"):
            page = web.get(f"/topics/{topic}/records?as=json")
            assert page.status == 200
            assert json.loads(page.body)
            assert b"SECRET" not in page.body
        assert b"99" not in web.get("/topics/named/records?as=json").body
        assert search_in(web, "renamed", "c = 'SECRET'").status == 403

    def test_a_value_that_is_no_object_is_masked_as_a_whole(self) -> None:
        web = self.masked("flights:carrier", "flights:key")
        send(web.broker.client(), "flights", batch(b'["SECRET"]', b'{"carrier":"SECRET"', b'"SECRET"'))
        assert b"SECRET" not in web.get("/topics/flights/records").body


def search_in(web: Web, topic: str, where: str) -> Answered:
    return web.get(f"/topics/{topic}/records?where={quote(where)}")
