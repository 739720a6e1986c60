"""Partitions that split, in a browser."""

from __future__ import annotations

import json

import pytest

from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction
from tests.broker.kit import create
from tests.broker.splits import split, split_topic, tree
from tests.console.web.kit import ADDRESS, Web


@pytest.fixture
def web() -> Web:
    found = Web()
    split_topic(found.broker.client(), "grown")
    return found


def test_the_tree_tells_what_each_partition_was_split_from(web: Web) -> None:
    split(web.broker.client(), 0, "grown")
    assert web.get("/topics/grown").links("What each was split from") == ["/topics/grown/splits"]
    rows = json.loads(web.get("/topics/grown/splits?as=json").body)
    assert [(row["partition"], row["state"], row["from"]) for row in rows] == [
        (0, "active", None),
        (1, "active", "0 at 0"),
    ]
    assert "0:40000000-80000000" in web.get("/topics/grown/splits").text


def test_a_split_is_planned_first_and_then_made(web: Web) -> None:
    page = web.get("/topics/grown/splits?partition=0")
    assert f"kawal topics split grown --partition 0 --bootstrap {ADDRESS}" in page.text
    assert len(tree(web.broker.client(), "grown")) == 1
    assert web.post("/topics/grown/splits", partition="0").status == 303
    assert len(tree(web.broker.client(), "grown")) == 2


@pytest.mark.parametrize(("partition", "status"), [("x", 400), ("-1", 400), ("7", 404)])
def test_no_such_partition_is_a_sentence(web: Web, partition: str, status: int) -> None:
    page = web.get(f"/topics/grown/splits?partition={partition}")
    assert (page.status, bool(page.problem)) == (status, True)


def test_a_form_for_no_such_partition_changes_nothing(web: Web) -> None:
    assert web.post("/topics/grown/splits", partition="7").status >= 400
    assert web.post("/topics/grown/splits").status == 400
    assert len(tree(web.broker.client(), "grown")) == 1


def test_a_topic_that_does_not_split_says_how_one_does(web: Web) -> None:
    create(web.broker.client(), "plain")
    page = web.get("/topics/plain/splits")
    assert page.status == 200
    assert "kawal.partition.autosplit.mode=up" in page.text
    assert "What each was split from" not in web.get("/topics/plain").text


def test_a_read_only_console_shows_the_tree_and_splits_nothing(web: Web) -> None:
    looking = Web(broker=web.broker, read_only=True)
    assert "<form class" not in looking.get("/topics/grown/splits").html
    assert looking.post("/topics/grown/splits", partition="0").status == 403
    sent = [request for request in looking.sent if isinstance(request, KawalTopicsRequest)]
    assert {request.action for request in sent} == {TopicAction.DESCRIBE}
