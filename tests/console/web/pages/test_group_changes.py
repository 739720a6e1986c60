"""New offsets of a group, and its end."""

from __future__ import annotations

import pytest

from tests.broker.gateway import Gateway
from tests.broker.groups import commit, committed, join
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


@pytest.fixture
def web() -> Web:
    found = Web(broker=Gateway(group_initial_rebalance_delay_ms=0))
    client = found.broker.client()
    create(client, "t", partitions=2)
    send(client, "t", batch(b"a", b"b", b"c"), 1)
    commit(client, "g", ("t", 1, 2))
    return found


def test_a_preview_shows_each_partition_and_changes_nothing(web: Web) -> None:
    page = web.get("/groups/g/reset?to=earliest")
    assert "t 1 2 0 (2 again)" in page.text
    assert "t 0 none" not in page.text
    assert "Offsets read again: 2, skipped: 0." in page.text
    assert "kawal groups reset-offsets g --all-topics --to earliest --execute" in page.text
    assert committed(web.broker.client(), "g") == {("t", 1): 2}


def test_what_was_previewed_is_done(web: Web) -> None:
    answer = web.post("/groups/g/reset", to="-1", topic="t")
    assert answer.status == 303
    assert committed(web.broker.client(), "g") == {("t", 0): 0, ("t", 1): 2}
    assert "group 'g' is set to -1 in 2 partitions" in web.get(answer.headers["location"]).text
    web.post("/groups/g/reset", to="latest", topic="t:1")
    assert committed(web.broker.client(), "g") == {("t", 0): 0, ("t", 1): 3}


def test_without_a_position_there_is_only_the_form(web: Web) -> None:
    page = web.get("/groups/g/reset")
    assert page.status == 200
    assert "<button>Reset" not in page.html


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("to=soon", "to 'soon' is not a position"),
        ("to=latest&topic=u", "topic 'u'"),
        ("to=latest&topic=t:9", "partition 9 of 't' does not exist"),
        ("to=latest&topic=t:x", "is neither TOPIC nor"),
    ],
)
def test_what_cannot_be_is_a_sentence_without_a_button(web: Web, query: str, sentence: str) -> None:
    page = web.get(f"/groups/g/reset?{query}")
    assert sentence in page.problem
    assert "<button>Reset" not in page.html


def test_a_group_that_has_committed_nothing_needs_a_topic(web: Web) -> None:
    assert "name a topic" in web.get("/groups/new/reset?to=earliest").problem
    assert web.post("/groups/new/reset", to="earliest", topic="t").status == 303
    assert committed(web.broker.client(), "new") == {("t", 0): 0, ("t", 1): 0}


def test_a_group_with_members_is_left_alone(web: Web) -> None:
    join(web.broker.client(), "busy")
    page = web.get("/groups/busy/reset?to=earliest&topic=t")
    assert "is Stable: stop its consumers first" in page.problem
    assert "<button>Reset" not in page.html
    refused = web.post("/groups/busy/reset", to="earliest", topic="t")
    assert refused.status == 502
    assert "stop its consumers first" in refused.problem
    assert "partition 1 of 't': " in refused.problem
    assert committed(web.broker.client(), "busy") == {}
    assert "stop its consumers first" in web.get("/groups/busy/delete").problem
    assert "group 'busy': " in web.post("/groups/busy/delete", confirm="busy").problem


def test_deleting_asks_for_the_name(web: Web) -> None:
    page = web.get("/groups/g/delete")
    assert "Its offsets in 1 partition are forgotten." in page.text
    assert web.post("/groups/g/delete", confirm="G").status == 400
    assert web.get("/groups/g").status == 200
    assert web.post("/groups/g/delete", confirm="g").status == 303
    assert web.get("/groups/g").status == 404
