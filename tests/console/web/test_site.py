"""The console as a site: what every route must keep, whatever its page does."""

from __future__ import annotations

import gzip
import logging
from typing import Any

import pytest
import trio
import trio.testing

from broker.server.http_conversation import converse
from console.web.errors import PageError
from console.web.headers import POLICY, SANDBOX
from console.web.kafka_door import STREAMS_MAX
from console.web.routes import ROUTES, Table
from console.web.site import PAGE_SECONDS
from console.web.visit import Answer, Done, Events, Route, Streamed, Tell, View, Visit, change, get, stream
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.kit import create
from tests.console.web.kit import Web

SAFE = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def path_of(route: Route) -> str:
    """Return a path that fits a route."""
    return "/".join("1" if part.startswith("{") else part for part in route.pattern.split("/"))


def sentence(text: str, status: int = 200) -> View:
    return View(title="t", template="error.html", context={"sentence": text, "status": status}, status=status)


async def plain(visit: Visit) -> Answer:
    await trio.lowlevel.checkpoint()
    return sentence(f"hello {visit.query.one('name')}")


async def broken(_: Visit) -> Answer:
    await trio.lowlevel.checkpoint()
    raise ZeroDivisionError("broken on purpose")


async def slow(_: Visit) -> Answer:
    await trio.sleep_forever()
    raise AssertionError


async def delete(visit: Visit) -> Answer:
    if visit.form.one("confirm") != "t":
        raise PageError(400, "write the name")
    await visit.kafka.send(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 4)
    return Done("deleted topic 't'", "/plain")


TABLE = Table((get("/plain", plain), get("/broken", broken), get("/slow", slow), change("/delete", delete)))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.pattern}")
class TestEveryRoute:
    """Rules for all rows of the table."""

    def test_it_is_answered_under_known_names_only(self, route: Route) -> None:
        web = Web()
        answer = web.ask(route.method, path_of(route), headers={"Host": "evil.example"})
        assert answer.status == 421
        assert web.sent == []

    def test_it_has_the_headers_of_security(self, route: Route) -> None:
        answer = Web().ask(route.method, path_of(route), headers={"Sec-Fetch-Site": "same-origin"})
        is_file = "content-disposition" in answer.headers
        safe = SAFE | ({"content-security-policy": SANDBOX} if is_file else {})
        assert {name: answer.headers[name] for name in SAFE} == safe
        assert answer.headers["cache-control"] == "no-store"
        assert not [name for name in answer.headers if name.startswith("access-control")]

    def test_other_sites_can_only_open_it_as_a_document(self, route: Route) -> None:
        web = Web()
        for site in ("cross-site", "same-site", "same-origin, cross-site"):
            answer = web.ask(route.method, path_of(route), headers={"Sec-Fetch-Site": site})
            assert answer.status == 403
        assert web.sent == []
        opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        answer = web.ask(route.method, path_of(route), headers=opened)
        assert (answer.status == 403) == (route.method != "GET")

    def test_a_get_changes_nothing(self, route: Route) -> None:
        assert not (route.method == "GET" and route.changes)
        if route.method == "GET" and not route.streams:
            web = Web(read_only=True)
            assert web.get(path_of(route)).status != 403

    def test_a_form_comes_from_a_page_of_ours_or_from_no_browser(self, route: Route) -> None:
        if route.method == "GET":
            return
        web = Web()
        for origin in ("http://evil.example", "null", "http://localhost:9645.evil.example", "file://"):
            assert web.ask("POST", path_of(route), headers={"Origin": origin}).status == 403
        assert web.sent == []
        for headers in ({"Origin": "http://localhost:9645"}, {}, {"Sec-Fetch-Site": "none"}):
            assert web.ask("POST", path_of(route), headers=headers).status != 403

    def test_it_is_for_those_who_have_logged_in(self, route: Route) -> None:
        web = Web(login=True)
        answer = web.ask(route.method, path_of(route), headers={"Sec-Fetch-Site": "same-origin"})
        if route.without_login:
            assert answer.status != 303 or answer.headers["location"] == "/login"
        else:
            assert answer.status in (401, 303)
        assert web.sent == []

    def test_a_change_is_refused_while_read_only(self, route: Route) -> None:
        if route.changes:
            web = Web(read_only=True)
            assert web.post(path_of(route)).status == 403
            assert web.sent == []


def test_a_page_is_made_with_its_query() -> None:
    assert Web(table=TABLE).get("/plain?name=a%20b").problem == "hello a b"


def test_head_has_no_body() -> None:
    answer = Web(table=TABLE).get("/plain", method="HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) > 1000


def test_a_page_that_does_not_exist_and_a_method_that_is_not_taken_are_told() -> None:
    web = Web(table=TABLE)
    assert web.get("/nothing").status == 404
    answer = web.post("/plain")
    assert (answer.status, answer.problem) == (405, "this page takes GET and HEAD")


def test_an_error_of_ours_is_a_page_and_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    answer = Web(table=TABLE).get("/broken")
    assert answer.status == 500
    assert answer.headers["content-security-policy"] == POLICY
    assert "ZeroDivisionError: broken on purpose" in caplog.text


def test_what_is_no_request_has_the_headers_of_security() -> None:
    answer = Web(table=TABLE).exchange(b"nonsense\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert POLICY.encode() in answer


def test_a_page_that_takes_too_long_is_stopped() -> None:
    web = Web(table=TABLE)

    async def main() -> bytes:
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(converse, web.console, theirs, "127.0.0.1")
            await ours.send_all(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = bytes(await ours.receive_some())
            assert trio.current_time() >= PAGE_SECONDS
            nursery.cancel_scope.cancel()
        return answer

    answer = trio.run(main, clock=trio.testing.MockClock(rate=20))
    assert answer.startswith(b"HTTP/1.1 504 ")


def test_a_page_ends_when_the_browser_leaves() -> None:
    ended: list[str] = []

    async def page(_: Visit) -> Answer:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("page")
        raise AssertionError

    async def main() -> None:
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:
            web = Web(table=Table((get("/endless", page),)))
            nursery.start_soon(converse, web.console, theirs, "127.0.0.1")
            await ours.send_all(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await trio.testing.wait_all_tasks_blocked()
            assert ended == []
            await ours.aclose()

    trio.run(main)
    assert ended == ["page"]


def test_a_request_that_comes_during_a_page_is_answered_after_it() -> None:
    web = Web(table=TABLE)
    request = b"GET /plain?name=%d HTTP/1.1\r\nHost: localhost\r\n"
    answer = web.exchange(request % 1 + b"\r\n" + request % 2 + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert answer.index(b"hello 1") < answer.index(b"hello 2")


def test_a_broker_that_is_away_is_a_sentence_and_heals() -> None:
    web = Web()
    web.away = True
    answer = web.get("/topics")
    assert (answer.status, answer.problem) == (503, "cannot reach broker.test:9092: Connection refused")
    web.away = False
    assert web.get("/topics").status == 200


def test_a_kept_connection_that_has_ended_is_made_again() -> None:
    web = Web()
    assert web.get("/topics").status == 200
    web.links[-1].aborted = True
    assert web.get("/topics").status == 200
    assert len(web.links) == 2


def test_large_pages_are_compressed_for_browsers_that_take_it() -> None:
    web = Web(table=TABLE)
    answer = web.get("/plain", headers={"Accept-Encoding": "gzip, br"})
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(answer.body) == web.get("/plain").body


def test_a_form_of_another_kind_is_refused() -> None:
    answer = Web().ask("POST", "/settings", headers={"Content-Type": "text/plain"}, body=b"zone=UTC")
    assert answer.status == 415


def test_a_form_may_have_1_mib_and_no_more() -> None:
    web = Web()
    assert web.post("/settings", zone="UTC", more="x" * 1_000_000).status == 303
    assert web.post("/settings", zone="UTC", more="x" * (1 << 20)).status == 413


class TestChanges:
    """A change is told where it was made, and in the log."""

    def test_it_leads_to_a_page_that_tells_it_once(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        web = Web(table=TABLE)
        create(web.broker.client(), "t")
        answer = web.post("/delete", confirm="t")
        assert answer.status == 303
        page = web.get(answer.headers["location"])
        assert "deleted topic 't'" in page.text
        assert "deleted topic 't'" not in web.get(answer.headers["location"]).text
        (line,) = [record for record in caplog.records if record.name == "kawal.request.console"]
        fields: dict[str, Any] = vars(line)
        assert line.getMessage() == "change done: deleted topic 't'"
        assert (fields["user"], fields["host"], fields["request"]) == ("-", "127.0.0.1", "POST /delete")

    def test_one_that_was_not_made_is_in_the_log_with_its_reason(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO)
        assert Web(table=TABLE).post("/delete").status == 400
        assert "change not done: write the name" in caplog.text

    def test_nothing_that_changes_leaves_a_console_that_is_read_only(self) -> None:
        """Not even when a page forgets to say that it changes something."""
        forgetful = Table((get("/plain", plain), Route("POST", "/delete", delete)))
        web = Web(table=forgetful, read_only=True)
        create(web.broker.client(), "t")
        answer = web.post("/delete", confirm="t")
        assert answer.status == 403
        assert web.sent == []
        assert web.broker.broker.find_topic("t") is not None


def test_metadata_that_would_create_a_topic_counts_as_a_change() -> None:
    async def page(visit: Visit) -> Answer:
        await visit.kafka.send(MetadataRequest(topics=None, allow_auto_topic_creation=True), 12)
        raise AssertionError

    assert Web(table=Table((get("/m", page),)), read_only=True).get("/m").status == 403


class TestStreams:
    """Answers in pieces."""

    def test_events_come_as_they_are_told(self) -> None:
        async def run(tell: Tell) -> None:
            await tell("<b>1</b>\nline", event="row", id="0:5")
            await tell("2")

        async def page(_: Visit) -> Answer:
            await trio.lowlevel.checkpoint()
            return Events(run)

        answer = Web(table=Table((stream("/events", page),))).get("/events")
        assert answer.headers["content-type"] == "text/event-stream"
        assert b"id: 0:5\nevent: row\ndata: <b>1</b>\ndata: line\n\n" in answer.body
        assert b"data: 2\n\n" in answer.body
        assert answer.body.endswith(b"0\r\n\r\n")

    def test_one_that_cannot_go_on_says_why(self) -> None:
        async def run(_: Tell) -> None:
            await trio.lowlevel.checkpoint()
            raise PageError(503, "the broker <is> away")

        async def page(_: Visit) -> Answer:
            await trio.lowlevel.checkpoint()
            return Events(run)

        answer = Web(table=Table((stream("/events", page),))).get("/events")
        assert b"event: problem\ndata: the broker &lt;is&gt; away\n\n" in answer.body

    def test_a_file_in_pieces_is_an_attachment_in_a_sandbox(self) -> None:
        async def page(_: Visit) -> Answer:
            await trio.lowlevel.checkpoint()

            async def run(send: Any) -> None:
                await send(b"one\n")

            return Streamed(run, "application/x-ndjson", "flights.jsonl")

        answer = Web(table=Table((stream("/file", page),))).get("/file")
        assert answer.headers["content-disposition"].startswith('attachment; filename="flights.jsonl"')
        assert answer.headers["content-security-policy"].startswith("sandbox")
        assert b"one\n" in answer.body

    def test_it_is_cancelled_when_the_browser_leaves_and_16_are_open_at_most(self) -> None:
        ended = 0

        async def run(tell: Tell) -> None:
            nonlocal ended
            await tell("here")
            try:
                await trio.sleep_forever()
            finally:
                ended += 1

        async def page(_: Visit) -> Answer:
            await trio.lowlevel.checkpoint()
            return Events(run)

        web = Web(table=Table((stream("/events", page),)))

        async def connect(nursery: trio.Nursery) -> tuple[trio.abc.Stream, bytes]:
            ours, theirs = trio.testing.memory_stream_pair()
            nursery.start_soon(converse, web.console, theirs, "127.0.0.1")
            await ours.send_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = bytes(await ours.receive_some())
            while b"here" not in answer and b"503" not in answer:
                answer += bytes(await ours.receive_some())
            return ours, answer

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                open_ones = [await connect(nursery) for _ in range(STREAMS_MAX)]
                assert all(b"here" in answer for _, answer in open_ones)
                last, refused = await connect(nursery)
                assert refused.startswith(b"HTTP/1.1 503 ")
                await last.aclose()
                await open_ones[0][0].aclose()
                await trio.testing.wait_all_tasks_blocked()
                assert ended == 1
                again, answer = await connect(nursery)
                assert b"here" in answer
                nursery.cancel_scope.cancel()
                await again.aclose()

        trio.run(main)
        assert ended == STREAMS_MAX + 1
