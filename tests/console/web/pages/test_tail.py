"""Pages that follow a topic, and their events."""

from __future__ import annotations

from urllib.parse import quote, unquote

import trio
import trio.testing

from broker.server.http_conversation import converse
from console.web.masks import Masks, parse_mask
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web
from tests.console.web.pages.test_searching import flights


def first_event(web: Web, path: str, last_event: str = "", until: bytes = b"\n\n") -> str:
    """Return what a stream sends until some bytes have come."""

    async def main() -> bytes:
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(converse, web.console, theirs, "127.0.0.1")
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
            head += f"Last-Event-ID: {last_event}\r\n" if last_event else ""
            await ours.send_all(head.encode() + b"\r\n")
            answer = b""
            while until not in answer.partition(b"\r\n\r\n")[2]:
                answer += bytes(await ours.receive_some())
            await ours.aclose()
        return answer

    return trio.run(main, clock=trio.testing.MockClock(rate=50)).decode()


def test_the_page_has_the_last_records_and_a_link_to_look_again() -> None:
    web = flights(100)
    page = web.get("/topics/flights/tail")
    assert page.html.count("<tr hx-ignore>") == 50
    (again,) = page.links("look again")
    send(web.broker.client(), "flights", batch(b'{"id":77777}'))
    page = web.get(again)
    assert "1 record since the last look" in page.text
    assert "77777" in page.text
    assert "0 records since the last look" in web.get(page.links("look again")[0]).text


def test_events_begin_where_the_page_ends() -> None:
    web = flights(20, partitions=1)
    page = web.get("/topics/flights/tail")
    (path,) = [part.split('"')[0] for part in page.html.split('hx-sse:connect="')[1:]]
    assert unquote(path) == "/topics/flights/tail/events?at=0:20"
    send(web.broker.client(), "flights", batch(b'{"id":77777}'))
    event = first_event(web, path)
    assert "Content-Type: text/event-stream" in event
    assert "id: 0:21\n" in event
    assert event.count("<tr hx-ignore>") == 1
    assert "77777" in event


def test_a_browser_that_comes_back_gets_what_follows_the_last_event_it_has_seen() -> None:
    web = flights(20, partitions=1)
    event = first_event(web, "/topics/flights/tail/events?at=0:20", last_event="0:15")
    assert event.count("<tr hx-ignore>") == 5


def test_a_condition_applies_to_the_page_and_to_the_events() -> None:
    web = flights(30, partitions=1)
    page = web.get("/topics/flights/tail?where=delay+%3E+15")
    assert page.html.count("<tr hx-ignore>") == 10
    event = first_event(web, "/topics/flights/tail/events?at=0:0&where=delay+%3E+15")
    assert event.count("<tr hx-ignore>") == 10
    assert web.get("/topics/flights/tail?where=dely+%3E+15").status == 400
    assert web.get("/topics/flights/tail/events?where=dely+%3E+15").status == 400


def test_hostile_records_are_text_in_events() -> None:
    web = Web()
    create(web.broker.client(), "t")
    evil = b"<script>alert(1)</script>\r\ndata: x\n\nid: 9:9\n\n\xe2\x80\xae"
    send(web.broker.client(), "t", batch(evil, key=b"<img src=x onerror=alert(1)>\n\nevent: problem"))
    event = first_event(web, "/topics/t/tail/events?at=0:0")
    body = event.partition("\r\n\r\n")[2]
    assert "<script" not in body
    assert "<img" not in body
    assert [line for line in body.split("\n") if line.startswith(("id:", "event:"))] == ["id: 0:1"]
    assert "\\u202e" in body


def test_masked_parts_are_in_no_event() -> None:
    web = flights(3, partitions=1, masks=Masks([parse_mask("flights:carrier")]))
    event = first_event(web, "/topics/flights/tail/events?at=0:0")
    assert "TP" not in event.replace("HTTP", "")
    assert "(masked)" in event
    assert b"TP" not in web.get("/topics/flights/tail").body
    where = quote("carrier = 'TP'")
    assert web.get(f"/topics/flights/tail?where={where}").status == 403
    assert web.get(f"/topics/flights/tail/events?where={where}").status == 403


def test_a_stream_over_a_topic_that_is_not_there_is_an_error_page() -> None:
    assert Web().get("/topics/absent/tail/events").status >= 400
    assert Web().get("/topics/absent/tail").status >= 400
