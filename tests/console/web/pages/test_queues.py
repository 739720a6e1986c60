"""Share groups in a browser."""

from __future__ import annotations

import json

import pytest

from console.errors import CommandError
from console.web import first_records
from console.web.masks import Masks, parse_mask
from console.web.pages import queues
from console.wire import NotKawal
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, REJECT, RELEASE
from tests.console.web.kit import Web
from tests.console.web.pages.test_tail import first_event


@pytest.fixture
def web() -> Web:
    """Ten jobs: m1 has 0 to 3; 4 is accepted, 5 rejected; 6 and 7 were given back; 8 and 9 come next."""
    jobs = Jobs(partitions=2)
    jobs.produce(*(b"%d" % number for number in range(8)))
    worker = jobs.member("m1")
    worker.fetch(jobs.place)
    worker.acknowledge(jobs.place, (4, 7, [ACCEPT, REJECT, RELEASE, RELEASE]))
    jobs.produce(b"8", b"9")
    return Web(broker=jobs.gateway)


def group_of(web: Web) -> str:
    (row,) = json.loads(web.get("/queues?as=json").body)
    return str(row["group"])


def test_each_share_group_is_a_row_with_what_waits(web: Web) -> None:
    (row,) = json.loads(web.get("/queues?as=json").body)
    assert (row["members"], row["topics"], row["under_way"]) == (1, ["jobs"], 4)
    assert row["backlog"] >= 6
    assert web.get("/queues").links(row["group"]) == [f"/queues/{row['group']}"]


def test_one_has_its_members_and_partitions(web: Web) -> None:
    page = web.get(f"/queues/{group_of(web)}")
    assert "4 records under way" in page.text
    assert "m1" in page.text
    rows = json.loads(web.get(f"/queues/{group_of(web)}?as=json").body)
    (row,) = [row for row in rows if row["partition"] == 0]
    assert row["acquired"] == 4


def test_peeking_shows_ranges_with_links_and_acquires_nothing(web: Web) -> None:
    path = f"/queues/{group_of(web)}/peek"
    rows = json.loads(web.get(f"{path}?as=json").body)
    assert (rows[0]["first"], rows[0]["last"], rows[0]["state"]) == (0, 3, "acquired")
    assert {row["state"] for row in rows} == {"acquired", "available"}
    first = {(row["partition"], row["first"]): row["first_value"] for row in rows}
    assert (first[0, 0], first[0, 6], first[0, 8]) == ("0", "6", "8")
    assert '<div class="short">6</div>' in web.get(path).html
    (href,) = web.get(path).links("jobs 0: 0 to 3")
    assert web.get(href).status == 200
    (row,) = json.loads(web.get("/queues?as=json").body)
    assert row["under_way"] == 4


def test_values_that_are_masked_are_not_peeked_at(web: Web) -> None:
    masked = Web(broker=web.broker, masks=Masks([parse_mask("jobs:value")]))
    rows = json.loads(masked.get(f"/queues/{group_of(web)}/peek?as=json").body)
    assert {row["first_value"] for row in rows if row["first_value"] is not None} == {"(masked)"}


def test_records_that_may_not_be_read_leave_the_ranges(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise CommandError("topic authorization failed")

    monkeypatch.setattr(first_records, "whole_record", refuse)
    page = web.get(f"/queues/{group_of(web)}/peek")
    assert "No record of jobs is shown: topic authorization failed" in page.text
    assert page.links("jobs 0: 0 to 3")


def test_the_stream_tells_the_numbers(web: Web) -> None:
    assert "4 records under way" in first_event(web, f"/queues/{group_of(web)}/events")


def test_no_share_group_says_what_makes_one() -> None:
    assert "There is no share group yet" in Web().get("/queues").text
    for path in ("none", "none/events", "none/peek", "none/release", "none/purge"):
        assert Web().get(f"/queues/{path}").status == 404, path
    assert Web().get("/queues/none").problem == "there is no share group 'none'"


def test_another_broker_says_that_it_has_none(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> object:
        raise NotKawal("closed")

    monkeypatch.setattr("console.admin.ask_server", closed)
    assert "This broker knows no share groups" in Web().get("/queues").text
    monkeypatch.setattr(queues, "ask_group", closed)
    page = web.get("/queues/g/peek")
    assert (page.status, "does not tell" in page.problem) == (404, True)
