"""A small HTTP server of pages for operators, besides the Kafka listeners.

On a loopback address only names of this machine are answered: otherwise a web page could, by DNS rebinding,
read what is served to its visitor.  On other addresses clients log in (broker/server/http_login.py), unless
the operator wants it otherwise.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import trio

from broker.config.endpoints import is_loopback
from broker.loop.internal_errors import ErrorPlace, InternalErrors
from broker.loop.turns import Turns
from broker.server.http_conversation import BODY_BYTES_MAX, Headers, HttpRequest, Page, converse


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
        turns: Turns | None = None,
    ) -> None:
        """Make a server of these pages.

        `local`: the listener is bound to a loopback address; `judge` lets clients in, None: all of them.
        `turns` are told of requests for pages.
        """
        self._turns = turns or Turns()
        self._routes = routes
        self._errors = errors
        self._local = local
        self._judge = judge
        self._conversations = 0

    async def converse(self, stream: trio.abc.Stream, host: str = "") -> None:
        """Answer one client, from this address, until it leaves or its connection must be closed."""
        # Its request comes at once, most often.
        self._turns.asked_for_page()
        self._conversations += 1
        try:
            await converse(self, stream, host)
        finally:
            self._conversations -= 1
            if not self._conversations:
                self._turns.no_page()

    def body_bytes_max(self, path: str) -> int:
        """Return the size of the largest body that is read for a path."""
        route = self._routes.get(path)
        return BODY_BYTES_MAX if route is None else route.body_bytes_max

    async def answer(self, request: HttpRequest, host: str) -> Page:
        """Return the page for a request from this address, or that of an error of our own."""
        self._turns.asked_for_page()
        try:
            return await self._page(request, host)
        except Exception as error:  # noqa: BLE001  (the net)
            self._errors.note(ErrorPlace.HTTP, f"{request.method} {request.path}", error)
            return Page(b"internal error; the server's log has its cause\n", 500)
        finally:
            self._turns.page_is_made()

    def is_long(self, _: HttpRequest) -> bool:
        """Whether an answer may take seconds: none of these does."""
        return False

    def refusal(self, status: int, sentence: str) -> Page:
        """Return the page for what could not be read as a request."""
        return Page(f"{sentence}\n".encode(), status)

    async def _page(self, request: HttpRequest, host: str) -> Page:
        if self._local and not names_this_machine(request.headers.get("host", "")):
            return Page(b"this address answers for localhost only\n", 421)
        if self._judge is not None and (refused := await self._judge(request.headers, host)) is not None:
            return refused
        route = self._routes.get(request.path)
        if route is None:
            paths = " ".join(self._routes)
            return Page(f"no such page; there are: {paths}\n".encode(), 404)
        if request.method not in route.methods:
            sentence = f"this page takes {' and '.join(route.methods)}\n"
            return Page(sentence.encode(), 405, headers=(("Allow", ", ".join(route.methods)),))
        return await route.make(request)


def names_this_machine(host: str) -> bool:
    """Whether a Host header names a loopback address; a request without one comes from no browser."""
    return not host or is_loopback(host_name(host))


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.strip("[]").removesuffix(".").lower()
