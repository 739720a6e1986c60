"""Share groups whose records are given back, moved to and finished."""

from __future__ import annotations

import json

import pytest

from protocol.messages.kawal_queue_changes import KawalQueueChangesRequest
from tests.console.web.kit import Web
from tests.console.web.pages.test_queues import group_of
from tests.console.web.pages.test_queues import web as web


def under_way(web: Web) -> int:
    (row,) = json.loads(web.get("/queues?as=json").body)
    return int(row["under_way"])


def test_records_are_given_back_after_a_plan(web: Web) -> None:
    path = f"/queues/{group_of(web)}/release"
    page = web.get(path)
    assert f"kawal queues release {group_of(web)}" in page.text
    assert "4." in page.text
    assert under_way(web) == 4
    done = web.post(path)
    assert done.status == 303
    assert "gave back 4 records" in web.get(done.headers["location"]).text
    assert under_way(web) == 0


def test_those_of_one_member_alone_are_given_back(web: Web) -> None:
    path = f"/queues/{group_of(web)}/release"
    assert "--member m1" in web.get(f"{path}?member=m1").text
    assert web.post(path, member="m2").status == 303
    assert under_way(web) == 4
    assert web.post(path, member="m1").status == 303
    assert under_way(web) == 0


def test_a_queue_is_purged_by_its_name(web: Web) -> None:
    group = group_of(web)
    path = f"/queues/{group}/purge"
    assert f"kawal queues purge {group} --yes" in web.get(path).text
    assert web.post(path, confirm="other").status == 400
    assert under_way(web) == 4
    assert web.post(path, confirm=group).status == 303
    (row,) = json.loads(web.get("/queues?as=json").body)
    assert row["backlog"] == 0


def test_a_reset_shows_where_it_goes_on_and_the_broker_refuses_it_with_members(web: Web) -> None:
    path = f"/queues/{group_of(web)}/reset"
    page = web.get(f"{path}?to=latest&topic=jobs:0")
    assert "--topic jobs:0 --to latest --yes" in page.text
    assert "jobs 0 0 10" in page.text
    assert web.post(path, to="latest", topic="jobs:0").status >= 400


def test_a_group_without_members_is_made_where_it_shall_begin(web: Web) -> None:
    assert "none 10" in web.get("/queues/fresh/reset?to=latest&topic=jobs:0").text
    assert web.post("/queues/fresh/reset", to="latest", topic="jobs:0").status == 303
    rows = json.loads(web.get("/queues/fresh?as=json").body)
    assert [row["start"] for row in rows] == [10]


@pytest.mark.parametrize("query", ["to=nonsense", "to=latest", "to=latest&topic=none"])
def test_what_cannot_be_is_a_sentence_without_a_button(web: Web, query: str) -> None:
    page = web.get(f"/queues/fresh/reset?{query}")
    assert page.problem
    assert 'method="post"' not in page.html


def test_a_read_only_console_shows_plans_and_sends_no_change(web: Web) -> None:
    looking = Web(broker=web.broker, read_only=True)
    group = group_of(web)
    for name in ("release", "purge", "reset"):
        page = looking.get(f"/queues/{group}/{name}")
        assert (page.status, 'method="post"' in page.html) == (200, False)
    assert looking.post(f"/queues/{group}/release").status == 403
    assert looking.post(f"/queues/{group}/purge", confirm=group).status == 403
    assert looking.post(f"/queues/{group}/reset", to="latest", topic="jobs:0").status == 403
    assert not [sent for sent in looking.sent if isinstance(sent, KawalQueueChangesRequest)]
