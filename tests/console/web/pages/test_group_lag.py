"""The lag of a group over time."""

from __future__ import annotations

import json

import pytest
import trio
import trio.testing

from broker.server.http_conversation import converse
from tests.broker.groups import commit
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web
from tests.console.web.pages.test_tail import first_event


@pytest.fixture
def web() -> Web:
    """Return a console whose broker has a group that has stalled 2 records before the end."""
    found = Web()
    create(found.broker.client(), "t")
    send(found.broker.client(), "t", batch(b"a", b"b", b"c"))
    commit(found.broker.client(), "g", ("t", 0, 1))
    return found


def test_each_look_is_a_sample_for_people_and_programs(web: Web) -> None:
    web.get("/groups/g")
    page = web.get("/groups/g/lag")
    assert "Behind " in page.text
    assert "2 records" in page.text
    assert "<svg" in page.html
    rows = json.loads(web.get("/groups/g/lag?as=json").body)
    assert {row["records"] for row in rows} == {2}
    assert web.get("/groups/g").links("while it was looked at") == ["/groups/g/lag"]


def test_hours_in_which_nobody_looked_are_told_from_what_was_committed(web: Web) -> None:
    (link,) = web.get("/groups/g").links("6 hours")
    page = web.get(link)
    assert page.status == 200
    assert "at 61 moments" in page.text
    assert "<svg" in page.html
    rows = json.loads(web.get(f"{link}&as=json").body)
    assert len(rows) == 61
    assert {row["records"] for row in rows} == {2}


@pytest.mark.parametrize("since", ["6", "-1h", "0h", "h", "99999d", "1w", "%3Cb%3E"])
def test_what_is_no_time_is_a_sentence(web: Web, since: str) -> None:
    page = web.get(f"/groups/g/lag?since={since}")
    assert (page.status, "such as 30m, 6h or 2d" in page.problem) == (400, True)


def test_a_group_that_is_not_there_has_no_past(web: Web) -> None:
    assert web.get("/groups/nobody/lag?since=6h").status == 404


def test_the_stream_tells_the_lag_of_a_consumer_that_has_stalled_as_it_grows(web: Web) -> None:
    assert "Behind" in first_event(web, "/groups/g/lag/events")
    send(web.broker.client(), "t", batch(*[b"x"] * 1_000))
    event = first_event(web, "/groups/g/lag/events")
    assert "1,002 records" in event
    assert max(sample.records for sample in web.console._lags.of("", "g")) == 1_002


def test_the_stream_goes_on_when_the_broker_was_away(web: Web) -> None:
    async def main() -> bytes:
        ours, theirs = trio.testing.memory_stream_pair()
        answer = b""

        async def until(words: bytes) -> None:
            nonlocal answer
            while words not in answer:
                answer += bytes(await ours.receive_some())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(converse, web.console, theirs, "127.0.0.1")
            await ours.send_all(b"GET /groups/g/lag/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await until(b"2 records")
            web.away = True
            await until(b"it is asked again")
            send(web.broker.client(), "t", batch(b"d"))
            web.away = False
            await until(b"3 records")
            await ours.aclose()
        return answer

    assert b"event: problem" not in trio.run(main, clock=trio.testing.MockClock(rate=50))


def test_a_group_that_is_not_there_is_a_sentence_and_keeps_nothing() -> None:
    web = Web()
    assert web.get("/groups/none/lag").status == 404
    assert web.get("/groups/none/lag/events").status == 404
    assert web.console._lags.of("", "none") == []
