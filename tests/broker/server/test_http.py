"""A small HTTP server answers GET and HEAD of its pages, and limits its clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from broker.loop.internal_errors import InternalErrors
from broker.loop.turns import PAGE_NS, SENT_NS, Turns
from broker.server.http import HttpServer, Judge, Route
from broker.server.http_conversation import (
    BODY_BYTES_MAX,
    HEAD_BYTES_MAX,
    REQUEST_SECONDS_MAX,
    Headers,
    HttpRequest,
    Page,
)


async def hello(request: HttpRequest) -> Page:
    await trio.lowlevel.checkpoint()
    return Page(f"hello {request.headers.get('user-agent', '')}\n".encode())


async def echo(request: HttpRequest) -> Page:
    await trio.lowlevel.checkpoint()
    return Page(f"{request.method} {request.path} {request.query} ".encode() + request.body)


async def broken(_: HttpRequest) -> Page:
    await trio.lowlevel.checkpoint()
    raise ZeroDivisionError("broken on purpose")


async def busy(_: HttpRequest) -> Page:
    await trio.lowlevel.checkpoint()
    return Page(b"not now\n", 503)


Talk = Callable[[trio.abc.Stream], Awaitable[bytes]]


def run(talk: Talk, *, local: bool = True, judge: Judge | None = None) -> bytes:
    """Serve one connection on the other end of `talk`, with a clock that jumps; return `talk`'s result."""
    found: list[bytes] = []

    async def main() -> None:
        ours, theirs = trio.testing.memory_stream_pair()
        routes = {
            "/hello": Route(hello),
            "/busy": Route(busy),
            "/broken": Route(broken),
            "/echo": Route(echo, methods=("POST",), body_bytes_max=10),
        }
        server = HttpServer(routes, InternalErrors(), local=local, judge=judge)

        async def serve() -> None:
            await server.converse(theirs, "10.0.0.7")
            await theirs.aclose()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            found.append(await talk(ours))
            await ours.aclose()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return found[0]


def exchange(*requests: bytes, local: bool = True) -> bytes:
    """Send these bytes, then the end, and return all that comes back."""

    async def talk(stream: trio.abc.Stream) -> bytes:
        answer = bytearray()
        try:
            for request in requests:
                await stream.send_all(request)
            assert isinstance(stream, trio.StapledStream)
            await stream.send_eof()
        except trio.BrokenResourceError:
            answer += b""  # the server has closed its side; its answer is still to be read
        while part := await stream.receive_some(65536):
            answer += part
        return bytes(answer)

    return run(talk, local=local)


def get(path: str, *, host: str = "localhost:9644", method: str = "GET", more: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_a_page_is_served() -> None:
    answer = exchange(get("/hello", more="User-Agent: curl\r\n"))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 11\r\n" in head
    assert b"no-store" in head
    assert body == b"hello curl\n"


def test_a_query_does_not_change_the_page() -> None:
    assert status(exchange(get("/hello?name=x"))) == 200


def test_head_has_no_body() -> None:
    answer = exchange(get("/hello", method="HEAD"))
    assert b"Content-Length: 7\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


def test_a_connection_serves_one_request_after_the_other() -> None:
    assert exchange(get("/hello") * 3).count(b"HTTP/1.1 200") == 3


def test_a_connection_ends_when_the_client_says_so() -> None:
    assert exchange(get("/hello", more="Connection: close\r\n"), get("/hello")).count(b"200") == 1


def test_a_page_chooses_its_status() -> None:
    assert exchange(get("/busy")).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")


def test_an_unknown_page_names_those_there_are() -> None:
    answer = exchange(get("/secret"))
    assert status(answer) == 404
    assert b"/hello /busy" in answer


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(method: str) -> None:
    answer = exchange(get("/hello", method=method))
    assert status(answer) == 405
    assert b"Allow: GET, HEAD" in answer


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:9644",
        "10.0.0.1",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil@localhost",
        "localhost@evil.example",
        "2130706433",
        "0x7f.1",
        "0.0.0.0",
        "[::ffff:10.0.0.1]",
    ],
)
def test_behind_loopback_only_names_of_this_machine_are_answered(host: str) -> None:
    assert status(exchange(get("/hello", host=host))) == 421
    assert status(exchange(get("/hello", host=host), local=False)) == 200


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:9644",
        "localhost.",
        "127.0.0.1:9644",
        "127.8.8.8",
        "[::1]",
        "[::1]:9644",
    ],
)
def test_names_of_this_machine_are_answered(host: str) -> None:
    assert status(exchange(get("/hello", host=host))) == 200


def test_a_client_of_http_1_0_is_answered_once() -> None:
    assert exchange(b"GET /hello HTTP/1.0\r\n\r\n", get("/hello")).count(b"HTTP/1.1 200") == 1


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"hello\r\n\r\n", b"GET / HTTP/9\r\n\r\n"]
)
def test_what_is_no_request_is_told_so(garbage: bytes) -> None:
    answer = exchange(garbage)
    assert status(answer) == 400
    assert b"Connection: close" in answer


def test_an_endless_head_is_refused() -> None:
    assert status(exchange(b"GET /hello HTTP/1.1\r\nX: " + b"x" * (2 * HEAD_BYTES_MAX))) == 431


def test_a_body_is_read_and_ignored() -> None:
    body = "Content-Length: 5\r\n"
    assert exchange(get("/hello", more=body) + b"12345" + get("/hello")).count(b"200 OK") == 2


def test_a_large_body_is_refused() -> None:
    size = BODY_BYTES_MAX + 1
    answer = exchange(get("/hello", more=f"Content-Length: {size}\r\n") + b"x" * size)
    assert status(answer) == 413


def test_a_client_that_says_nothing_is_sent_away() -> None:
    async def talk(stream: trio.abc.Stream) -> bytes:
        began = trio.current_time()
        assert await stream.receive_some(1) == b""
        assert trio.current_time() - began == pytest.approx(REQUEST_SECONDS_MAX)
        return b""

    run(talk)


def test_a_client_that_sends_half_a_request_is_sent_away() -> None:
    async def talk(stream: trio.abc.Stream) -> bytes:
        await stream.send_all(b"GET /hello HT")
        assert await stream.receive_some(1) == b""
        return b""

    run(talk)


def test_a_client_that_is_gone_before_its_answer_is_no_error() -> None:
    async def talk(stream: trio.abc.Stream) -> bytes:
        await stream.send_all(get("/hello"))
        await stream.aclose()
        return b""

    run(talk)


def test_a_page_that_takes_a_body_gets_it_with_the_query() -> None:
    answer = exchange(get("/echo?a=1&b=2", method="POST", more="Content-Length: 10\r\n") + b"0123456789")
    assert status(answer) == 200
    assert answer.endswith(b"\r\n\r\nPOST /echo a=1&b=2 0123456789")


def test_a_body_above_the_pages_own_limit_is_refused() -> None:
    answer = exchange(get("/echo", method="POST", more="Content-Length: 11\r\n") + b"0123456789x")
    assert status(answer) == 413


def test_a_page_says_which_methods_it_takes() -> None:
    answer = exchange(get("/echo"))
    assert status(answer) == 405
    assert b"Allow: POST\r\n" in answer
    assert answer.endswith(b"this page takes POST\n")


@pytest.mark.parametrize("target", ["//[", "http://[", "//[::1"])
def test_a_target_that_is_no_url_is_a_bad_request(target: str) -> None:
    """A web page with an image of such an address makes a browser ask for it."""
    answer = exchange(get(target))
    assert status(answer) == 400
    assert b"the target is no URL" in answer


def test_an_error_of_our_own_is_told_and_the_connection_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    answer = exchange(get("/broken"), get("/hello"))
    assert status(answer) == 500
    assert answer.endswith(b"hello \n")
    assert "ZeroDivisionError: broken on purpose" in caplog.text


def test_two_hosts_or_none_are_no_request() -> None:
    twice = get("/hello", more="Host: evil.example\r\n")
    assert status(exchange(twice)) == 400
    assert status(exchange(b"GET /hello HTTP/1.1\r\n\r\n")) == 400


def test_the_host_counts_and_not_the_target() -> None:
    request = get("/hello").replace(b"GET /hello", b"GET http://evil.example/hello")
    assert status(exchange(request)) == 200
    request = get("/hello", host="evil.example").replace(b"GET /hello", b"GET http://localhost/hello")
    assert status(exchange(request)) == 421


def test_a_judge_sees_every_request_and_its_address_and_answers_in_place_of_the_page() -> None:
    seen: list[tuple[str, str]] = []

    async def judge(headers: Headers, host: str) -> Page | None:
        await trio.lowlevel.checkpoint()
        seen.append((headers.get("authorization", ""), host))
        return None if headers.get("authorization") else Page(b"no\n", 401, headers=(("X-Why", "y"),))

    async def talk(stream: trio.abc.Stream) -> bytes:
        await stream.send_all(get("/hello") + get("/secret") + get("/hello", more="Authorization: a\r\n"))
        answer = b""
        while answer.count(b"HTTP/1.1") < 3 or not answer.endswith(b"\n"):
            answer += bytes(await stream.receive_some())
        return answer

    answer = run(talk, local=False, judge=judge)
    assert answer.count(b"HTTP/1.1 401 Unauthorized") == 2
    assert answer.count(b"X-Why: y") == 2
    assert answer.count(b"HTTP/1.1 200") == 1
    assert seen == [("", "10.0.0.7"), ("", "10.0.0.7"), ("a", "10.0.0.7")]


def test_a_judge_that_fails_lets_no_one_in() -> None:
    async def judge(_headers: Headers, _host: str) -> Page | None:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError("on purpose")

    async def talk(stream: trio.abc.Stream) -> bytes:
        await stream.send_all(get("/hello", more="Connection: close\r\n"))
        answer = b""
        while part := await stream.receive_some():
            answer += bytes(part)
        return answer

    assert status(run(talk, local=False, judge=judge)) == 500


def test_the_loop_learns_of_requests_for_pages_and_when_they_are_made() -> None:
    turns, until_ns = Turns(lambda: 1), list[int]()

    async def page(_: HttpRequest) -> Page:
        await trio.lowlevel.checkpoint()
        until_ns.append(turns.page_until_ns)
        return Page(b"")

    server = HttpServer({"/": Route(page)}, InternalErrors(), local=True, turns=turns)
    trio.run(server.answer, HttpRequest("GET", "/", "", {}, b""), "127.0.0.1")
    assert [*until_ns, turns.page_until_ns] == [1 + PAGE_NS, 1 + SENT_NS]


def test_the_loop_learns_of_a_connection_before_its_request_has_come() -> None:
    turns = Turns(lambda: 1)
    server = HttpServer({"/": Route(hello)}, InternalErrors(), local=True, turns=turns)

    async def main() -> None:
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.converse, theirs, "127.0.0.1")
            await trio.testing.wait_all_tasks_blocked()
            assert turns.page_until_ns == 1 + PAGE_NS
            await ours.aclose()

    trio.run(main)
    assert not turns.page_until_ns, "no page is waited for"


def test_the_end_of_a_connection_does_not_hold_up_the_page_of_another() -> None:
    turns = Turns(lambda: 1)
    server = HttpServer({"/": Route(hello)}, InternalErrors(), local=True, turns=turns)

    async def main() -> None:
        pairs = [trio.testing.memory_stream_pair() for _ in range(2)]
        async with trio.open_nursery() as nursery:
            for _, theirs in pairs:
                nursery.start_soon(server.converse, theirs, "127.0.0.1")
            await trio.testing.wait_all_tasks_blocked()
            await pairs[0][0].aclose()
            await trio.testing.wait_all_tasks_blocked()
            assert turns.page_until_ns == 1 + PAGE_NS
            await pairs[1][0].aclose()

    trio.run(main)
    assert not turns.page_until_ns
