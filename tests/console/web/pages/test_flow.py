"""The map, and the readers of a topic."""

from __future__ import annotations

import json

import pytest

from console.web.pages import flow
from tests.broker.groups import commit
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


@pytest.fixture
def web() -> Web:
    found = Web()
    client = found.broker.client()
    create(client, "t")
    create(client, "v", kawal_sql="SELECT * FROM t")
    create(client, "lonely")
    send(client, "t", batch(b'{"a":1}'))
    commit(client, "billing", ("t", 0, 0))
    commit(client, "<b>&", ("v", 0, 0))
    return found


def steps(web: Web, path: str) -> list[tuple[str, str, str]]:
    return [(row["source"], row["target"], row["kind"]) for row in json.loads(web.get(path).body)]


def test_the_map_has_each_step_as_a_drawing_with_links_and_as_a_table(web: Web) -> None:
    assert steps(web, "/map?as=json") == [
        ("t", "billing", "group"),
        ("t", "v", "view"),
        ("v", "<b>&", "group"),
    ]
    page = web.get("/map")
    assert page.html.count("<rect ") == 4
    assert page.links("billing") == ["/groups/billing"]
    assert ">1 behind</text>" in page.html
    assert "<b>&" not in page.html


def test_readers_are_those_of_one_topic(web: Web) -> None:
    assert steps(web, "/topics/v/readers?as=json") == [("t", "v", "view"), ("v", "<b>&", "group")]
    assert "No view is made of it, and no group reads." in web.get("/topics/lonely/readers").text
    assert web.get("/topics/none/readers").status == 404


def test_the_map_around_a_topic_is_its_part(web: Web) -> None:
    assert steps(web, "/map?focus=v&as=json") == steps(web, "/topics/v/readers?as=json")


def test_another_broker_leaves_the_map_empty_with_a_sentence(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "flow_of", lambda _: None)
    page = web.get("/map")
    assert page.status == 200
    assert "This broker does not tell views" in page.text
