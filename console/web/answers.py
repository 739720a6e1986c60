"""Answers of pages as bytes: HTML, rows for programs, redirections, files and streams."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from typing import Final
from urllib.parse import quote

import trio

from broker.server.http_conversation import Flow, Page, Send
from console.errors import CommandError
from console.web.errors import PageError
from console.web.formats import FORMATS
from console.web.headers import security_headers
from console.web.text import shown
from console.web.visit import Download, Events, Redirect, Settings, Streamed, Tell, View, Visit

HTML: Final = "text/html; charset=utf-8"
BYTES: Final = "application/octet-stream"
EVENTS: Final = "text/event-stream"
PROBLEM: Final = "problem"
"""The event that ends a stream which cannot go on, with a sentence."""
QUIET_SECONDS: Final = 15
"""A comment goes out after so long without an event, so that proxies keep a stream open."""


class AnswerPages:
    """Makes pages of bytes out of answers."""

    def __init__(self, settings: Settings) -> None:
        self._headers = security_headers(settings)
        self._sandboxed = security_headers(settings, sandbox=True)
        self.streams = 0
        """The streams that are open."""

    def html(self, text: str, status: int) -> Page:
        """Return a page of HTML."""
        return Page(text.encode("utf-8", "backslashreplace"), status, HTML, self._headers)

    def rows(self, visit: Visit, view: View) -> Page:
        """Return the rows of a view in the format that `as` names.  Raises: PageError."""
        form = visit.query.one("as")
        if form not in FORMATS:
            raise PageError(400, f"as={form[:20]!r} is no format; there are {', '.join(FORMATS)}")
        if view.rows is None:
            raise PageError(406, "this page has no rows to give to a program")
        content_type, write = FORMATS[form]
        body = write(view.rows).encode("utf-8", "backslashreplace")
        return Page(body, view.status, content_type, self._sandboxed)

    def other(self, found: Redirect | Download | Streamed | Events) -> Page:
        """Return what is no view."""
        match found:
            case Redirect(to, cookies):
                set_cookies = tuple(("Set-Cookie", cookie) for cookie in cookies)
                return Page(b"", 303, HTML, (*self._headers, ("Location", own_path(to)), *set_cookies))
            case Download(body, name):
                return Page(body, 200, BYTES, (*self._sandboxed, _attachment(name)))
            case Streamed(run, content_type, name):
                headers = (*self._sandboxed, _attachment(name)) if name else self._headers
                return Page(b"", 200, content_type, headers, stream=self._counted(run))
            case Events(run):
                return Page(b"", 200, EVENTS, self._headers, stream=self._counted(_events(run)))

    def _counted(self, run: Flow) -> Flow:
        """Count a stream while it runs."""

        async def stream(send: Send) -> None:
            self.streams += 1
            try:
                await run(send)
            finally:
                self.streams -= 1

        return stream


def own_path(to: str) -> str:
    """Return a path of this console; anything that leads elsewhere leads to the overview."""
    if (
        not to.startswith("/")
        or to.startswith("//")
        or "\\" in to
        or not to.isascii()
        or not to.isprintable()
    ):
        return "/"
    return to


def event_bytes(html: str, event: str = "", id: str = "") -> bytes:  # noqa: A002  (the standard's word)
    """Return an event as it is sent.  Source: WHATWG HTML, 9.2.6 Interpreting an event stream."""
    lines = [f"id: {id}"] if id else []
    lines += [f"event: {event}"] if event else []
    lines += [f"data: {line}" for line in html.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "backslashreplace")


def _events(run: Callable[[Tell], Awaitable[None]]) -> Flow:
    async def stream(send: Send) -> None:
        lock = trio.Lock()
        told_at = trio.current_time()

        async def tell(html: str, event: str = "", id: str = "") -> None:  # noqa: A002
            nonlocal told_at
            async with lock:
                await send(event_bytes(html, event, id))
                told_at = trio.current_time()

        async def breathe() -> None:
            nonlocal told_at
            while True:
                await trio.sleep_until(told_at + QUIET_SECONDS)
                async with lock:
                    if trio.current_time() >= told_at + QUIET_SECONDS:
                        await send(b":\n\n")
                        told_at = trio.current_time()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(breathe)
            try:
                await run(tell)
            except CommandError as error:
                await tell(escape(shown(str(error))), event=PROBLEM)
            nursery.cancel_scope.cancel()

    return stream


def _attachment(name: str) -> tuple[str, str]:
    plain = "".join(char if (char.isalnum() and char.isascii()) or char in "-_." else "_" for char in name)
    encoded = quote(name, safe="", errors="replace")
    return "Content-Disposition", f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
