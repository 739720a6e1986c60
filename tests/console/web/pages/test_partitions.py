"""More partitions."""

from __future__ import annotations

import json

import pytest

from protocol.messages.create_partitions import CreatePartitionsRequest
from tests.broker.kit import create
from tests.console.web.kit import Web


@pytest.fixture
def web() -> Web:
    found = Web()
    create(found.broker.client(), "t", partitions=2)
    return found


def test_more_partitions_are_tried_first_and_then_made(web: Web) -> None:
    assert "There are 2 partitions now." in web.get("/topics/t/partitions").text
    page = web.get("/topics/t/partitions?count=5")
    assert "kawal topics alter t --partitions 5" in page.text
    assert "3 partitions more." in page.text
    assert len(json.loads(web.get("/topics/t?as=json").body)) == 2
    assert web.post("/topics/t/partitions", count="5").status == 303
    assert len(json.loads(web.get("/topics/t?as=json").body)) == 5


def test_fewer_partitions_are_refused_in_the_brokers_words_and_have_no_button(web: Web) -> None:
    page = web.get("/topics/t/partitions?count=1")
    assert "t" in page.problem
    assert 'method="post"' not in page.html


@pytest.mark.parametrize("count", ["0", "-1", "many", "9999999999"])
def test_what_is_no_number_of_partitions_is_a_sentence(web: Web, count: str) -> None:
    assert web.get(f"/topics/t/partitions?count={count}").status == 400
    assert web.post("/topics/t/partitions", count=count).status == 400


def test_a_read_only_console_shows_the_plan_and_sends_no_dry_run(web: Web) -> None:
    looking = Web(broker=web.broker, read_only=True)
    page = looking.get("/topics/t/partitions?count=5")
    assert page.status == 200
    assert 'method="post"' not in page.html
    assert looking.post("/topics/t/partitions", count="5").status == 403
    assert not [request for request in looking.sent if isinstance(request, CreatePartitionsRequest)]


def test_a_form_without_a_number_changes_nothing(web: Web) -> None:
    assert web.post("/topics/t/partitions").status != 303
