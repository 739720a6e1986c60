"""Topics made, deleted, and freed of old records."""

from __future__ import annotations

import json

import pytest

from tests.broker.groups import commit
from tests.broker.kit import batch, create, read, send
from tests.console.web.kit import Web


@pytest.fixture
def web() -> Web:
    found = Web()
    create(found.broker.client(), "t", partitions=2)
    send(found.broker.client(), "t", batch(b"a", b"b", b"c"), 1)
    return found


def names(web: Web) -> list[str]:
    return [row["name"] for row in json.loads(web.get("/topics?as=json").body)]


def test_a_new_topic_is_checked_before_it_is_made(web: Web) -> None:
    page = web.get("/new/topic?name=u&partitions=3&config=retention.ms%3D86400000")
    assert "kawal topics create u --partitions 3 --config retention.ms=86400000" in page.text
    assert "The broker would take it as it is." in page.text
    assert names(web) == ["t"]
    answer = web.post("/new/topic", name="u", partitions="3", config="retention.ms=86400000\r\n")
    assert answer.headers["location"].startswith("/topics/u?done=")
    page = web.get(answer.headers["location"])
    assert "created topic 'u'" in page.text
    assert "3 partitions" in page.text
    assert "retention.ms 86400000 topic" in page.text


def test_a_topic_that_another_form_has_made_meanwhile_is_a_conflict(web: Web) -> None:
    page = web.post("/new/topic", name="t", partitions="1", config="")
    assert (page.status, "topic 't'" in page.problem) == (409, True)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("name=t", "topic 't': "),
        ("name=a/b", "topic 'a/b': "),
        ("name=u&config=retention.ms%3Dlong", "topic 'u': "),
        ("name=u&config=retention.ms", "is not KEY=VALUE"),
        ("name=u&partitions=0", "it must be between 1 and"),
    ],
)
def test_a_topic_that_cannot_be_is_a_sentence_without_a_button(web: Web, query: str, sentence: str) -> None:
    page = web.get(f"/new/topic?{query}")
    assert sentence in page.problem
    assert "<button>Create" not in page.html
    assert names(web) == ["t"]


def test_read_only_shows_the_command_alone() -> None:
    web = Web(read_only=True)
    page = web.get("/new/topic?name=u")
    assert (page.status, web.sent) == (200, [])
    assert "<button>Create" not in page.html


def test_deleting_names_what_depends_on_the_topic_and_asks_for_its_name(web: Web) -> None:
    create(web.broker.client(), "v", partitions=2, kawal_sql="SELECT * FROM t")
    commit(web.broker.client(), "billing", ("t", 1, 1))
    text = web.get("/topics/t/delete").text
    assert "2 partitions and all that is in them go for ever." in text
    assert "Offsets with records: 3." in text
    assert "1 view: v." in text
    assert "1 group: billing." in text
    assert "the records of its source stay" in web.get("/topics/v/delete").text
    assert web.post("/topics/v/delete", confirm="").status == 400
    assert web.post("/topics/v/delete", confirm="v").status == 303
    assert names(web) == ["t"]


def test_records_before_a_position_are_shown_and_then_deleted(web: Web) -> None:
    page = web.get("/topics/t/empty?before=2")
    assert "start of partition 1 0 2" in page.text
    assert "Offsets that go for ever: 2, in 2 partitions." in page.text
    assert read(web.broker.client(), "t", 0, 1) == [b"a", b"b", b"c"]
    assert web.post("/topics/t/empty", before="2", confirm="x").status == 400
    assert web.post("/topics/t/empty", before="2", confirm="t").status == 303
    assert [row["start"] for row in json.loads(web.get("/topics/t?as=json").body)] == [0, 2]


def test_a_position_that_is_none_is_a_sentence(web: Web) -> None:
    assert "before 'soon' is not a position" in web.get("/topics/t/empty?before=soon").problem
    assert web.get("/topics/t/empty").status == 200
