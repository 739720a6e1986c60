"""Statements with their mistakes and previews, and the views that they become."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from console.web.masks import Masks, parse_mask
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web
from tests.console.web.pages.test_searching import flights

LATE = "SELECT carrier, delay * 2 AS twice FROM flights WHERE delay > 15"


def test_a_preview_counts_what_matches_and_what_does_not_fit() -> None:
    web = flights()
    send(web.broker.client(), "flights", batch(b'{"delay":"late"}', b"nonsense"))
    page = web.get(f"/sql?q={quote(LATE)}")
    assert page.status == 200
    assert "200 of 602 match, 2 do not fit; " in page.text
    rows = json.loads(web.get(f"/sql?as=json&q={quote(LATE)}").body)
    assert (rows[0]["value"], rows[0]["value.twice"], len(rows)) == ('{"carrier":"TP","twice":40}', 40, 20)


def test_the_command_is_shown_to_be_copied() -> None:
    page = flights(3).get(f"/sql?q={quote(LATE)}&name=late")
    assert f"kawal sql 'CREATE TOPIC `late` AS {LATE}' --bootstrap" in page.text


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT dely FROM flights", "column 'dely' is unknown"),
        ("SELECT * FROM", "FROM is missing"),
        ("SELEKT 1", "expected SELECT"),
        ("SELECT count(*) FROM flights", "COUNT"),
        ("SELECT * FROM absent", "absent"),
        ("DROP TOPIC flights", "expected SELECT"),
        ("SELECT '\u202e' FROM flights WHERE (((", ""),
        ("<script>alert(1)</script>", ""),
    ],
)
def test_a_mistake_is_a_sentence(statement: str, words: str) -> None:
    web = flights(3)
    for path in ("/sql", "/sql/preview"):
        page = web.get(f"{path}?q={quote(statement)}")
        assert page.status == 200
        assert 'class="problem" role="alert"' in page.html
        assert words in page.text
        assert "<script>alert" not in page.html


def test_the_place_of_a_mistake_is_marked() -> None:
    page = flights(3).get(f"/sql?q={quote('SELECT carrier FROM flights' + chr(10) + 'WHERE dely > 15')}")
    assert "WHERE dely &gt; 15\n      ^</pre>" in page.html


def test_a_view_over_a_view_is_told_where_to_select_from() -> None:
    web = flights(3)
    create(web.broker.client(), "late", -1, kawal_sql=LATE)
    assert "select from 'flights'" in web.get("/sql?q=SELECT+*+FROM+late").text


def test_a_preview_that_follows_is_no_whole_page() -> None:
    page = flights(3).get(f"/sql/preview?q={quote(LATE)}")
    assert "<html" not in page.html
    assert "1 of 3 match" in page.text


def test_a_plan_is_tried_and_the_form_creates_the_topic() -> None:
    web = flights(30)
    page = web.get(f"/new/view?name=late&sql={quote(LATE)}")
    assert "10 of 30 match" in page.text
    creations = [request for request in web.sent if isinstance(request, CreateTopicsRequest)]
    assert [request.validate_only for request in creations] == [True]
    assert web.get("/topics/late").status == 404
    done = web.post("/new/view", name="late", sql=LATE)
    assert done.status == 303
    records = json.loads(web.get("/topics/late/records?as=json").body)
    assert records[0]["value"] == '{"carrier":"TP","twice":40}'


def test_what_the_broker_would_refuse_has_no_button() -> None:
    web = flights(3)
    create(web.broker.client(), "late")
    page = web.get(f"/new/view?name=late&sql={quote(LATE)}")
    assert "exists" in page.problem
    assert 'method="post" action="/new/view"' not in page.html


def test_a_console_that_is_read_only_shows_the_command_alone() -> None:
    web = flights(3, read_only=True)
    page = web.get(f"/new/view?name=late&sql={quote(LATE)}")
    assert "The console is read-only." in page.text
    assert not [request for request in web.sent if isinstance(request, CreateTopicsRequest)]


def test_no_view_is_made_that_tells_what_is_masked() -> None:
    web = flights(3, masks=Masks([parse_mask("flights:carrier")]))
    for path in (f"/sql?q={quote(LATE)}", f"/new/view?name=late&sql={quote(LATE)}"):
        assert web.get(path).status == 403
    sql = "SELECT delay FROM flights WHERE carrier = 'TP'"
    assert web.post("/new/view", name="late", sql=sql).status == 403
    assert web.get("/topics/late").status == 404


def test_databases_and_tags_are_left_to_the_server() -> None:
    web = Web()
    create(web.broker.client(), "t", kawal_columns="site string tag")
    assert "evaluated by the server alone" in web.get("/sql?q=DATABASE+default").text
    assert "only the server knows those" in web.get("/sql?q=SELECT+site+FROM+t").text


def test_a_statement_that_is_too_long_is_refused() -> None:
    assert flights(3).get("/sql?q=" + "a" * 15_000).status == 200
    assert flights(3).post("/new/view", name="x", sql="a" * 100_000).status == 400
