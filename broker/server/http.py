"""A small HTTP/1.1 server of pages for operators, over h11, besides the Kafka listeners.

Anything that reaches the port may send requests, so heads, bodies and the time of each request are bounded.
On a loopback address only names of this machine are answered: otherwise a web page could, by DNS rebinding,
read what is served to its visitor.  On other addresses clients log in (broker/server/http_login.py), unless
the operator wants it otherwise.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import h11
import trio

from broker.config.endpoints import is_loopback
from broker.loop.internal_errors import ErrorPlace, InternalErrors

logger = logging.getLogger("kawal.http")

HEAD_BYTES_MAX: Final = 16 << 10
BODY_BYTES_MAX: Final = 64 << 10
"""The largest body of a request to a page that names no limit of its own."""

RECEIVE_BYTES: Final = 16 << 10

REQUEST_SECONDS_MAX: Final = 30
"""The longest time from one answer to the end of the next."""

TEXT: Final = "text/plain; charset=utf-8"

Headers = Mapping[str, str]
"""Request headers by lower-case name."""


class HttpRequest(NamedTuple):
    """A request whose body has arrived."""

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


class Route(NamedTuple):
    """A page, and the requests that it takes."""

    make: Callable[[HttpRequest], Awaitable[Page]]
    methods: tuple[str, ...] = ("GET", "HEAD")
    body_bytes_max: int = BODY_BYTES_MAX


Judge = Callable[[Headers, str], Awaitable[Page | None]]
"""Returns the page that refuses a request with these headers from this host; None if it may be answered."""


class HttpServer:
    """Serves pages by their path."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        errors: InternalErrors,
        *,
        local: bool,
        judge: Judge | None = None,
    ) -> None:
        """Make a server of these pages.

        `local`: the listener is bound to a loopback address; `judge` lets clients in, None: all of them.
        """
        self._routes = routes
        self._errors = errors
        self._local = local
        self._judge = judge

    async def converse(self, stream: trio.abc.Stream, host: str = "") -> None:
        """Answer one client, from this address, until it leaves or its connection must be closed."""
        client = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        try:
            while client.our_state is h11.IDLE:
                with trio.move_on_after(REQUEST_SECONDS_MAX) as in_time:
                    await self._answer_next(client, stream, host)
                if in_time.cancelled_caught or not _may_stay(client):
                    return
                client.start_next_cycle()
        except (trio.BrokenResourceError, h11.LocalProtocolError) as error:
            logger.debug("connection ends: %s", error)

    async def _answer_next(self, client: h11.Connection, stream: trio.abc.Stream, host: str) -> None:
        try:
            request = await self._next_request(client, stream)
        except h11.RemoteProtocolError as error:
            if client.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                raise trio.BrokenResourceError(str(error)) from error
            page = Page(f"{error}\n".encode(), error.error_status_hint)
            await _send(client, stream, page, close=True)
            return
        if request is not None:
            page = await self._page_or_error(request, host)
            head_only = request.method == "HEAD"
            await _send(client, stream, page, head_only=head_only, allowed=self._methods(request))

    async def _page_or_error(self, request: HttpRequest, host: str) -> Page:
        try:
            return await self._page(request, host)
        except Exception as error:  # noqa: BLE001  (the net)
            self._errors.note(ErrorPlace.HTTP, f"{request.method} {request.path}", error)
            return Page(b"internal error; the server's log has its cause\n", 500)

    def _methods(self, request: HttpRequest) -> tuple[str, ...]:
        route = self._routes.get(request.path)
        return () if route is None else route.methods

    async def _page(self, request: HttpRequest, host: str) -> Page:
        if self._local and not _names_this_machine(request.headers.get("host", "")):
            return Page(b"this address answers for localhost only\n", 421)
        if self._judge is not None and (refused := await self._judge(request.headers, host)) is not None:
            return refused
        route = self._routes.get(request.path)
        if route is None:
            paths = " ".join(self._routes)
            return Page(f"no such page; there are: {paths}\n".encode(), 404)
        if request.method not in route.methods:
            return Page(f"this page takes {' and '.join(route.methods)}\n".encode(), 405)
        return await route.make(request)

    async def _next_request(self, client: h11.Connection, stream: trio.abc.Stream) -> HttpRequest | None:
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
                if len(body) > self._body_bytes_max(head):
                    raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request_of(head, bytes(body))
            else:
                return None

    def _body_bytes_max(self, head: h11.Request | None) -> int:
        route = None if head is None else self._routes.get(_path_and_query(head)[0])
        return BODY_BYTES_MAX if route is None else route.body_bytes_max


def _target(head: h11.Request) -> str:
    return head.target.decode("ascii", "replace")


def _path_and_query(head: h11.Request) -> tuple[str, str]:
    """Return the path and the query that are asked for.  Raises: h11.RemoteProtocolError."""
    try:
        url = urlsplit(_target(head))
    except ValueError as error:
        raise h11.RemoteProtocolError(f"the target is no URL: {error}") from error
    return url.path, url.query


def _request_of(head: h11.Request, body: bytes) -> HttpRequest:
    path, query = _path_and_query(head)
    headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
    return HttpRequest(head.method.decode("ascii"), path, query, headers, body)


def _may_stay(client: h11.Connection) -> bool:
    """Whether both sides have finished this request and are ready for the next one."""
    return client.our_state is h11.DONE and client.their_state is h11.DONE


def _names_this_machine(host: str) -> bool:
    """Whether a Host header names a loopback address; a request without one comes from no browser."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return not host or is_loopback(name.strip("[]").removesuffix(".").lower())


async def _send(
    client: h11.Connection,
    stream: trio.abc.Stream,
    page: Page,
    *,
    head_only: bool = False,
    close: bool = False,
    allowed: Sequence[str] = (),
) -> None:
    headers = [
        ("Content-Type", page.content_type),
        ("Content-Length", str(len(page.body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        *page.headers,
    ]
    if page.status == 405:
        headers.append(("Allow", ", ".join(allowed)))
    if close:
        headers.append(("Connection", "close"))
    reason = HTTPStatus(page.status).phrase.encode()
    data = client.send(h11.Response(status_code=page.status, headers=headers, reason=reason)) or b""
    if not head_only:
        data += client.send(h11.Data(data=page.body)) or b""
    data += client.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)
