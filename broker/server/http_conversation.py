"""A conversation with one HTTP/1.1 client, over h11: requests in, pages out, one after the other.

Anything that reaches a port may send requests, so heads, bodies and the time of each request are bounded.
The pages come from a `Site`, which also words what is said about requests that are none.  A page whose answer
is streamed is the last of its connection: nothing more is read but the end, by which the stream is cancelled.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

import h11
import trio

logger = logging.getLogger("kawal.http")

HEAD_BYTES_MAX: Final = 16 << 10
BODY_BYTES_MAX: Final = 64 << 10
"""The largest body of a request to a page that names no limit of its own."""

RECEIVE_BYTES: Final = 16 << 10

READ_AHEAD: Final = 4
"""Pieces of later requests that are taken while a long answer is made, to notice the end after them."""

REQUEST_SECONDS_MAX: Final = 30
"""The longest time from one answer to the end of the next, or to the beginning of one that is streamed."""

TEXT: Final = "text/plain; charset=utf-8"

Headers = Mapping[str, str]
"""Request headers by lower-case name; of a name that comes twice, both values with a comma between them."""

Send = Callable[[bytes], Awaitable[None]]
"""Sends a piece of a streamed answer."""

Flow = Callable[[Send], Awaitable[None]]
"""Sends a streamed answer in pieces."""


class HttpRequest(NamedTuple):
    """A request whose body has arrived; the path is as it was sent, with its escapes."""

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes


class Page(NamedTuple):
    """An answer."""

    body: bytes
    status: int = 200
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
    cache: str = "no-store"
    """The Cache-Control header."""
    stream: Flow | None = None
    """Sends the body in pieces, in place of `body`, until it returns or is cancelled as the client left."""


class Site(Protocol):
    """Everything that is served at an address."""

    def body_bytes_max(self, path: str) -> int:
        """Return the size of the largest body that is read for a path."""

    async def answer(self, request: HttpRequest, host: str) -> Page:
        """Return the page for a request from this address."""

    def refusal(self, status: int, sentence: str) -> Page:
        """Return the page for what could not be read as a request."""

    def is_long(self, request: HttpRequest) -> bool:
        """Whether its answer may take seconds, and is not wanted once the client has left."""


async def converse(site: Site, stream: trio.abc.Stream, host: str = "") -> None:
    """Answer one client, from this address, until it leaves or its connection must be closed."""
    client = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
    try:
        while client.our_state is h11.IDLE:
            flow = None
            with trio.move_on_after(REQUEST_SECONDS_MAX) as in_time:
                flow = await _answer_next(site, client, stream, host)
            if flow is not None:
                await _send_stream(client, stream, flow)
                return
            if in_time.cancelled_caught or not _may_stay(client):
                return
            client.start_next_cycle()
    except (trio.BrokenResourceError, h11.LocalProtocolError) as error:
        logger.debug("connection ends: %s", error)


async def _answer_next(site: Site, client: h11.Connection, stream: trio.abc.Stream, host: str) -> Flow | None:
    """Answer a request; return what is still to be streamed, after the head."""
    try:
        request = await _next_request(site, client, stream)
    except h11.RemoteProtocolError as error:
        if client.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            raise trio.BrokenResourceError(str(error)) from error
        page = site.refusal(error.error_status_hint, str(error))
        await _send(client, stream, page, close=True)
        return None
    if request is None:
        return None
    page = await _answered(site, client, stream, request, host)
    head_only = request.method == "HEAD"
    if page.stream is None or head_only:
        await _send(client, stream, page, head_only=head_only)
        return None
    await stream.send_all(client.send(_head(page, streamed=True)) or b"")
    return page.stream


async def _answered(
    site: Site, client: h11.Connection, stream: trio.abc.Stream, request: HttpRequest, host: str
) -> Page:
    """Return a site's page; one that takes long is cancelled when the client leaves.

    Raises: trio.BrokenResourceError when it has left.
    """
    if not site.is_long(request):
        return await site.answer(request, host)
    page: Page | None = None

    async def watch(scope: trio.CancelScope) -> None:
        with suppress(trio.BrokenResourceError):  # a lost connection is an end, too
            for _ in range(READ_AHEAD):
                more = await stream.receive_some(RECEIVE_BYTES)
                if not more:
                    scope.cancel()
                    return
                client.receive_data(bytes(more))
            return  # it sends so much that it must be there
        scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, nursery.cancel_scope)
        page = await site.answer(request, host)
        nursery.cancel_scope.cancel()
    if page is None:
        raise trio.BrokenResourceError("the client left before its answer")
    return page


async def _send_stream(client: h11.Connection, stream: trio.abc.Stream, flow: Flow) -> None:
    """Send pieces until there are no more, or the client has closed its side."""

    async def send(piece: bytes) -> None:
        await stream.send_all(client.send(h11.Data(data=piece)) or b"")

    async def watch(scope: trio.CancelScope) -> None:
        with suppress(trio.BrokenResourceError):  # a lost connection is an end, too
            while await stream.receive_some(RECEIVE_BYTES):
                continue  # the beginning of a request that is never read
        scope.cancel()

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, nursery.cancel_scope)
            await flow(send)
            await stream.send_all(client.send(h11.EndOfMessage()) or b"")
            nursery.cancel_scope.cancel()
    except* trio.BrokenResourceError as errors:
        logger.debug("connection ends: %s", errors)


async def _next_request(site: Site, client: h11.Connection, stream: trio.abc.Stream) -> HttpRequest | None:
    """Return the next request with its body, or None if the client has left.

    Raises: h11.RemoteProtocolError.
    """
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = client.next_event()
        if event is h11.NEED_DATA:
            client.receive_data(bytes(await stream.receive_some(RECEIVE_BYTES)))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > _body_bytes_max(site, head):
                raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return _request_of(head, bytes(body))
        else:
            return None


def _body_bytes_max(site: Site, head: h11.Request | None) -> int:
    return BODY_BYTES_MAX if head is None else site.body_bytes_max(_path_and_query(head)[0])


def _path_and_query(head: h11.Request) -> tuple[str, str]:
    """Return the path and the query that are asked for.  Raises: h11.RemoteProtocolError."""
    try:
        url = urlsplit(head.target.decode("ascii", "replace"))
    except ValueError as error:
        raise h11.RemoteProtocolError(f"the target is no URL: {error}") from error
    return url.path, url.query


def _request_of(head: h11.Request, body: bytes) -> HttpRequest:
    path, query = _path_and_query(head)
    headers: dict[str, str] = {}
    for name, value in head.headers:
        key, text = name.decode("ascii"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return HttpRequest(head.method.decode("ascii"), path, query, headers, body)


def _may_stay(client: h11.Connection) -> bool:
    """Whether both sides have finished this request and are ready for the next one."""
    return client.our_state is h11.DONE and client.their_state is h11.DONE


def _head(page: Page, *, streamed: bool = False) -> h11.Response:
    headers = [
        ("Content-Type", page.content_type),
        ("Connection", "close") if streamed else ("Content-Length", str(len(page.body))),
        ("Cache-Control", page.cache),
        ("X-Content-Type-Options", "nosniff"),
        *page.headers,
    ]
    reason = HTTPStatus(page.status).phrase.encode()
    return h11.Response(status_code=page.status, headers=headers, reason=reason)


async def _send(
    client: h11.Connection,
    stream: trio.abc.Stream,
    page: Page,
    *,
    head_only: bool = False,
    close: bool = False,
) -> None:
    if close:
        page = page._replace(headers=(*page.headers, ("Connection", "close")))
    data = client.send(_head(page)) or b""
    if page.body and not head_only and page.status != HTTPStatus.NOT_MODIFIED:
        data += client.send(h11.Data(data=page.body)) or b""
    data += client.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)
