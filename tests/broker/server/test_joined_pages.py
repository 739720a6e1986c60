"""Worker 0 shows the metrics and the health of all; one that does not answer is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import trio
import trio.testing

from broker.server import joined_pages
from broker.server.http import Route
from broker.server.http_conversation import HttpRequest, Page
from broker.server.joined_pages import ANSWER_SECONDS, page_of, request_of

OTHERS = {1: "/one", 2: "/two"}


def whole(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def shown(
    monkeypatch: pytest.MonkeyPatch, path: str, own: Page, answers: Mapping[str, bytes | OSError | None]
) -> Page:
    """Return a page of worker 0; an answer of None never comes."""

    async def make_own(_: HttpRequest) -> Page:
        return own

    async def answer(address: str, request: bytes) -> bytes:
        assert request.startswith(b"GET %s " % path.encode())
        found = answers[address]
        if found is None:
            await trio.sleep(10 * ANSWER_SECONDS)
        if isinstance(found, OSError):
            raise found
        return found or b""

    def pages(broker: Any, now_ms: Callable[[], int]) -> dict[str, Route]:
        return {"/metrics": Route(make_own), "/readyz": Route(make_own), "/healthz": Route(make_own)}

    async def main() -> Page:
        broker: Any = None
        route = joined_pages.joined_pages(pages, OTHERS)(broker, lambda: 0)[path]
        return await route.make(HttpRequest("GET", path, "", {}, b""))

    monkeypatch.setattr(joined_pages, "_answer", answer)
    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0.01))


def test_metrics_are_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    family = b"# HELP a A.\n# TYPE a gauge\na %d\n"
    page = shown(
        monkeypatch, "/metrics", Page(family % 1), {"/one": whole(family % 2), "/two": whole(family % 3)}
    )
    for sample in (b'a{worker="0"} 1', b'a{worker="1"} 2', b'a{worker="2"} 3'):
        assert sample in page.body
    assert b"kawal_workers_without_metrics 0\n" in page.body


@pytest.mark.parametrize(
    "bad", [None, ConnectionRefusedError(), b"", b"HTTP/1.1 200 x\r\n\r\n", whole(b"a")[:-1]]
)
def test_a_worker_that_does_not_answer_is_left_out_of_metrics_and_named_by_readiness(
    monkeypatch: pytest.MonkeyPatch, bad: bytes | OSError | None
) -> None:
    family = b"# HELP a A.\n# TYPE a gauge\na 1\n"
    page = shown(monkeypatch, "/metrics", Page(family), {"/one": bad, "/two": whole(family)})
    assert b'worker="1"' not in page.body
    assert b"kawal_workers_without_metrics 1\n" in page.body
    page = shown(monkeypatch, "/readyz", Page(b"ready\n"), {"/one": bad, "/two": whole(b"ready\n")})
    assert (page.status, page.body) == (503, b"worker 1 does not answer\n")


def test_the_server_is_ready_when_all_workers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = whole(b"ready\n")
    page = shown(monkeypatch, "/readyz", Page(b"ready\n"), {"/one": ready, "/two": ready})
    assert (page.status, page.body) == (200, b"ready\n")
    unready = {"/one": ready, "/two": whole(b"a log is damaged\n", 503)}
    page = shown(monkeypatch, "/readyz", Page(b"the disk is full\n", 503), unready)
    assert (page.status, page.body) == (503, b"the disk is full\nworker 2: a log is damaged\n")


def test_a_request_asks_for_the_format_that_the_client_wants() -> None:
    assert b"Accept: text/plain\r\n" in request_of("/metrics", "text/plain")
    assert b"Accept" not in request_of("/readyz", "")
    assert page_of(whole(b"x", 503)) == Page(b"x", 503)
