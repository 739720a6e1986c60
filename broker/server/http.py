"""A small HTTP/1.1 server for operators: GET of a few pages, over h11, beside the Kafka listeners.

It is there for a monitoring system and a person with curl, and may be reached by whoever reaches the port:
heads and bodies are bounded, so is the time of each request, and behind a loopback address only names of this
machine are answered (a web page could otherwise read the metrics of whoever looks at it, by DNS rebinding).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import h11
import trio

from broker.config.endpoints import is_loopback

logger = logging.getLogger("kawal.http")

HEAD_BYTES_MAX: Final = 16 << 10
BODY_BYTES_MAX: Final = 64 << 10
"""A body is read and thrown away; no page takes one."""

RECEIVE_BYTES: Final = 16 << 10

REQUEST_SECONDS_MAX: Final = 30
"""How long a client may take from one answer to having the next."""

METHODS: Final = (b"GET", b"HEAD")

TEXT: Final = "text/plain; charset=utf-8"

Headers = Mapping[str, str]
"""Request headers by lower-case name."""


class Page(NamedTuple):
    """An answer."""

    body: bytes
    status: int = 200
    content_type: str = TEXT


PageMaker = Callable[[Headers], Awaitable[Page]]


class HttpServer:
    """Serves pages by their path."""

    def __init__(self, pages: Mapping[str, PageMaker], *, local: bool) -> None:
        """`local`: the listener is bound to a loopback address."""
        self._pages = pages
        self._local = local

    async def converse(self, stream: trio.abc.Stream) -> None:
        """Answer one client until it leaves or may not stay."""
        client = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        try:
            while client.our_state is h11.IDLE:
                with trio.move_on_after(REQUEST_SECONDS_MAX) as in_time:
                    await self._answer_next(client, stream)
                if in_time.cancelled_caught or not _may_stay(client):
                    return
                client.start_next_cycle()
        except (trio.BrokenResourceError, h11.LocalProtocolError) as error:
            logger.debug("connection ends: %s", error)

    async def _answer_next(self, client: h11.Connection, stream: trio.abc.Stream) -> None:
        try:
            request = await _next_request(client, stream)
            if request is None:
                return
            page = await self._page(request)
        except h11.RemoteProtocolError as error:
            if client.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                raise trio.BrokenResourceError(str(error)) from error
            page = Page(f"{error}\n".encode(), error.error_status_hint)
            await _send(client, stream, page, close=True)
            return
        await _send(client, stream, page, head_only=request.method == b"HEAD")

    async def _page(self, request: h11.Request) -> Page:
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in request.headers}
        if request.method not in METHODS:
            return Page(b"only GET and HEAD are answered\n", 405)
        if self._local and not _names_this_machine(headers.get("host", "")):
            return Page(b"this address answers for localhost only\n", 421)
        path = urlsplit(request.target.decode("ascii", "replace")).path
        maker = self._pages.get(path)
        if maker is None:
            paths = " ".join(self._pages)
            return Page(f"no such page; there are: {paths}\n".encode(), 404)
        return await maker(headers)


def _may_stay(client: h11.Connection) -> bool:
    """Whether both sides are done with this request and ready for the next one."""
    return client.our_state is h11.DONE and client.their_state is h11.DONE


def _names_this_machine(host: str) -> bool:
    """Whether a Host header names a loopback address; a request without one comes from no browser."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return not host or is_loopback(name.strip("[]"))


async def _next_request(client: h11.Connection, stream: trio.abc.Stream) -> h11.Request | None:
    """The next request, its body read; None when the client has left."""
    request = None
    left_bytes = BODY_BYTES_MAX
    while True:
        event = client.next_event()
        if event is h11.NEED_DATA:
            client.receive_data(bytes(await stream.receive_some(RECEIVE_BYTES)))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            left_bytes -= len(event.data)
            if left_bytes < 0:
                raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
        elif isinstance(event, h11.EndOfMessage):
            return request
        else:
            return None


async def _send(
    client: h11.Connection,
    stream: trio.abc.Stream,
    page: Page,
    *,
    head_only: bool = False,
    close: bool = False,
) -> None:
    headers = [
        ("Content-Type", page.content_type),
        ("Content-Length", str(len(page.body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    if page.status == 405:
        headers.append(("Allow", "GET, HEAD"))
    if close:
        headers.append(("Connection", "close"))
    reason = HTTPStatus(page.status).phrase.encode()
    data = client.send(h11.Response(status_code=page.status, headers=headers, reason=reason)) or b""
    if not head_only:
        data += client.send(h11.Data(data=page.body)) or b""
    data += client.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)
