"""Streamed answers and headers of a conversation; test_http tries the rest with pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio
import trio.testing

from broker.server.http_conversation import REQUEST_SECONDS_MAX, HttpRequest, Page, Send, converse

GET = b"GET /%s HTTP/1.1\r\nHost: here\r\n\r\n"


class Pages:
    """A site whose pages a test chooses."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.seen: list[HttpRequest] = []

    def body_bytes_max(self, path: str) -> int:
        return 10

    def is_long(self, _: HttpRequest) -> bool:
        return False

    def refusal(self, status: int, sentence: str) -> Page:
        return Page(sentence.encode(), status, headers=(("X-Own", "yes"),))

    async def answer(self, request: HttpRequest, host: str) -> Page:
        await trio.lowlevel.checkpoint()
        self.seen.append(request)
        return self.page


def talk(site: Pages, work: Callable[[trio.abc.Stream], Awaitable[bytes]]) -> bytes:
    async def main() -> bytes:
        ours, theirs = trio.testing.memory_stream_pair()

        async def serve() -> None:
            await converse(site, theirs)
            await theirs.aclose()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            answer = await work(ours)
            await ours.aclose()
        return answer

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def everything(stream: trio.abc.Stream, data: bytes) -> bytes:
    await stream.send_all(data)
    answer = bytearray()
    while part := await stream.receive_some():
        answer += part
    return bytes(answer)


def test_a_stream_takes_as_long_as_it_likes_and_is_the_last_answer() -> None:
    async def flow(send: Send) -> None:
        for number in range(3):
            await trio.sleep(REQUEST_SECONDS_MAX)
            await send(b"piece %d" % number)

    answer = talk(Pages(Page(b"", stream=flow)), lambda stream: everything(stream, GET % b"" * 2))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert b"Connection: close" in head
    assert body == b"7\r\npiece 0\r\n7\r\npiece 1\r\n7\r\npiece 2\r\n0\r\n\r\n"


def test_a_stream_ends_when_its_client_leaves() -> None:
    ended = []

    async def flow(send: Send) -> None:
        try:
            await send(b"here")
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())

    async def leave(stream: trio.abc.Stream) -> bytes:
        await stream.send_all(GET % b"")
        await trio.sleep(60)
        await stream.aclose()
        return b""

    talk(Pages(Page(b"", stream=flow)), leave)
    assert len(ended) == 1


def test_a_client_that_is_gone_while_it_is_told_is_no_error() -> None:
    async def flow(send: Send) -> None:
        while True:
            await send(b"x")

    async def leave(stream: trio.abc.Stream) -> bytes:
        await stream.send_all(GET % b"")
        await stream.receive_some()
        await stream.aclose()
        return b""

    talk(Pages(Page(b"", stream=flow)), leave)


def test_head_of_a_stream_has_no_pieces() -> None:
    async def flow(send: Send) -> None:
        raise AssertionError

    request = b"HEAD / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
    answer = talk(Pages(Page(b"", stream=flow)), lambda stream: everything(stream, request))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


def test_the_path_stays_as_it_was_sent_and_double_headers_are_joined() -> None:
    site = Pages(Page(b"x"))
    request = b"GET /a%2Fb?c=%20 HTTP/1.1\r\nHost: here\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n"
    talk(site, lambda stream: everything(stream, request))
    (seen,) = site.seen
    assert (seen.path, seen.query, seen.headers["x-a"]) == ("/a%2Fb", "c=%20", "1, 2")


def test_what_is_no_request_gets_the_sites_own_words() -> None:
    answer = talk(Pages(Page(b"x")), lambda stream: everything(stream, b"nonsense\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"X-Own: yes" in answer


def test_an_answer_that_nothing_is_new_has_no_body() -> None:
    request = (GET % b"").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    answer = talk(Pages(Page(b"", 304, cache="private")), lambda stream: everything(stream, request))
    assert answer.startswith(b"HTTP/1.1 304 Not Modified\r\n")
    assert b"Cache-Control: private\r\n" in answer
