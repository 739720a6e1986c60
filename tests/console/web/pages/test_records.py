"""Records in a browser, exact to the byte."""

from __future__ import annotations

import json

import pytest

from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web

HOSTILE = (
    "<script>document.title='x'</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "{{ 7*7 }}{% include 'base.html' %}",
    "javascript:alert(1)",
    "\u202etxt.exe",
    "</pre></td></table><base href=//evil.example>",
    "<!--",
    "<div hx-get=/x hx-trigger=load>",
)


@pytest.fixture
def web() -> Web:
    found = Web()
    create(found.broker.client(), "t", partitions=2)
    return found


def offsets(web: Web, query: str) -> list[tuple[int, int]]:
    answer = web.get(f"/topics/t/records?as=json&{query}")
    assert answer.status == 200, answer.problem
    return [(row["partition"], row["offset"]) for row in json.loads(answer.body)]


def fill(web: Web, count: int) -> None:
    for partition in (0, 1):
        records = [Record(n, START_MS + 1000 * n + partition, b"k", b"%d" % n) for n in range(count)]
        send(web.broker.client(), "t", encode_batch(records), partition)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [(1, 2), (0, 2), (1, 1), (0, 1), (1, 0), (0, 0)]),
        ("from=-1", [(1, 2), (0, 2)]),
        ("from=earliest&p=1", [(1, 0), (1, 1), (1, 2)]),
        ("from=2", [(0, 2), (1, 2)]),
        ("from=2&order=newest", [(1, 2), (0, 2)]),
        (f"from=@{START_MS + 1001}", [(1, 1), (0, 2), (1, 2)]),
        ("from=latest", [(1, 2), (0, 2), (1, 1), (0, 1), (1, 0), (0, 0)]),
        ("at=0:1,1:0", [(0, 0)]),
        ("order=oldest&at=0:2,1:3", [(0, 2)]),
        ("at=0:99999,1:0", [(0, 2), (0, 1), (0, 0)]),
    ],
)
def test_they_are_found_by_positions_as_on_the_command_line(
    web: Web, query: str, found: list[tuple[int, int]]
) -> None:
    fill(web, 3)
    assert offsets(web, query) == found


@pytest.mark.parametrize(
    ("query", "status"),
    [("from=x", 400), ("p=x", 400), ("at=1", 400), ("order=x", 400), ("p=7", 404), ("p=1,,2", 400)],
)
def test_what_cannot_be_read_is_a_sentence(web: Web, query: str, status: int) -> None:
    page = web.get(f"/topics/t/records?{query}")
    assert page.status == status
    assert page.problem


def test_more_than_200_are_on_further_pages(web: Web) -> None:
    fill(web, 150)
    page = web.get("/topics/t/records")
    assert page.html.count("<tr><td>") == 200
    (older,) = page.links("older →")
    page = web.get(older)
    assert page.html.count("<tr><td>") == 100
    assert page.links("older →") == []


def test_an_empty_topic_waits_for_nothing(web: Web) -> None:
    page = web.get("/topics/t/records")
    assert "There is no record here" in page.text
    assert not [request for request in web.sent if type(request).__name__ == "FetchRequest"]


def test_no_content_can_script(web: Web) -> None:
    for text in HOSTILE:
        record = Record(0, START_MS, text.encode(), text.encode(), ((text, text.encode()),))
        send(web.broker.client(), "t", encode_batch([record]))
    for path in ("/topics/t/records", *(f"/topics/t/records/0/{n}" for n in range(len(HOSTILE)))):
        html = web.get(path).html
        assert "<script>d" not in html
        assert "<img" not in html
        assert "<base" not in html
        assert "<div hx-get" not in html
        assert "49" not in html.partition("<main")[2].partition("</main>")[0]
        assert "\u202e" not in html


def test_numbers_are_exact(web: Web) -> None:
    send(web.broker.client(), "t", batch(b'{"id":9223372036854775807,"a":1,"a":2.50}'))
    page = web.get("/topics/t/records/0/0")
    assert '"id": 9223372036854775807, "a": 1, "a": 2.50' in page.text


def test_binary_is_shown_as_escapes_and_given_as_it_is(web: Web) -> None:
    send(web.broker.client(), "t", batch(b"\x00\xff\x80", key=b"\xfe"))
    assert r"\x00\xff\x80" in web.get("/topics/t/records/0/0").text
    answer = web.get("/topics/t/records/0/0/value")
    assert answer.body == b"\x00\xff\x80"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert web.get("/topics/t/records/0/0/key").body == b"\xfe"


def test_a_value_of_1_mib_is_cut_on_its_page_and_whole_in_its_file(web: Web) -> None:
    value = b"x" * 1_000_000
    send(web.broker.client(), "t", batch(value))
    page = web.get("/topics/t/records/0/0")
    assert "cut here" in page.text
    assert len(page.body) < 300_000
    assert web.get("/topics/t/records/0/0/value").body == value


@pytest.mark.parametrize(
    "path", ["0/5", "7/0", "x/0", "0/-1", "0/x", "0/0/headers", "0/0/key", "99999999999/0", "0/" + "9" * 30]
)
def test_what_is_not_there_is_not_found(web: Web, path: str) -> None:
    send(web.broker.client(), "t", batch(b"v"))
    assert web.get(f"/topics/t/records/{path}").status == 404


def test_a_null_is_told_apart_from_no_bytes(web: Web) -> None:
    record = Record(0, START_MS, None, None)
    send(web.broker.client(), "t", encode_batch([record]))
    send(web.broker.client(), "t", batch(b""))
    assert "<em>null</em>" in web.get("/topics/t/records").html
    assert "null" in web.get("/topics/t/records/0/0").text
    assert web.get("/topics/t/records/0/1/value").body == b""


def test_records_of_a_topic_that_is_not_there_are_not_found() -> None:
    page = Web().get("/topics/nothing/records")
    assert page.status == 404
    assert "nothing" in page.problem


def test_records_of_a_topic_whose_name_no_topic_can_have_are_not_found() -> None:
    for page in ("records", "tail", "config", "produce", "columns"):
        answer = Web().get(f"/topics/%3Cb%3E/{page}")
        assert answer.status == 404
        assert "'<b>'" in answer.problem
