"""The console as a site: gates, pages and the form of answers, between the bytes and the pages.

request → static file, or gates (console/web/gates.py) → page, within its time → answer in the form asked for
→ headers

Whatever happens on the way, the answer is a page with a sentence, the headers of security and, for a change,
one line in the log.
"""

from __future__ import annotations

import gzip
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import trio

from broker.server.http_conversation import BODY_BYTES_MAX, HttpRequest, Page
from console.errors import CommandError, Refused, UsageError
from console.link import LinkLost
from console.outgoing import NotAllowed
from console.security import PLAIN, Security
from console.web.answers import AnswerPages
from console.web.errors import PageError
from console.web.fields import Fields, with_query
from console.web.gates import Knock, refused
from console.web.headers import security_headers
from console.web.kafka_door import STREAMS_MAX, KafkaDoor
from console.web.kept_bars import KeptBars
from console.web.lag_history import LagHistory
from console.web.preferences import COOKIE, Preferences, preferences_of
from console.web.rendering import Templates
from console.web.routes import ROUTES, Match, Table
from console.web.sessions import Logins, Session, Sessions, cookies_of
from console.web.static_files import StaticFiles, takes_gzip
from console.web.visit import FORM_BYTES_MAX, Answer, Done, Redirect, Settings, View, Visit
from protocol.error_codes import ErrorCode

logger = logging.getLogger("kawal.request.console")
"""By its name no line of it is left out, however many there are."""

FORM: Final = "application/x-www-form-urlencoded"
PAGE_SECONDS: Final = 20
"""The time that a page has, less than that of a request."""
ZIPPED_FROM_BYTES: Final = 1024
SENTENCES_MAX: Final = 100
"""Sentences about changes that wait for the page on which they are shown."""

STATUS_OF_REFUSALS: Final[dict[int, int]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 404,
    ErrorCode.UNKNOWN_TOPIC_ID: 404,
    ErrorCode.INVALID_TOPIC_EXCEPTION: 404,
    ErrorCode.GROUP_ID_NOT_FOUND: 404,
    ErrorCode.TOPIC_ALREADY_EXISTS: 409,
    ErrorCode.NON_EMPTY_GROUP: 409,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 403,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: 403,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: 403,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 403,
}
"""The status of pages that end with the broker's refusal; 502 for others."""


class Console:
    """The site: it answers requests, and counts what it is busy with."""

    def __init__(
        self,
        settings: Settings,
        door: KafkaDoor,
        *,
        security: Security = PLAIN,
        clock: Callable[[], float] = time.monotonic,
        table: Table | None = None,
    ) -> None:
        """Make a site; `security` is that of all who need not log in."""
        self.settings = settings
        self.sessions = Sessions(https=settings.https, clock=clock)
        self._logins = Logins(door, security, self.sessions)
        self._table = Table(ROUTES) if table is None else table
        self._static = StaticFiles()
        self._templates = Templates(self._static)
        self._answers = AnswerPages(settings)
        self._lags = LagHistory()
        self._bars = KeptBars()
        self._everyone = door.enter(security)
        self._sentences: OrderedDict[str, str] = OrderedDict()

    # --- what a conversation asks for ------------------------------------------------------------------

    def body_bytes_max(self, path: str) -> int:
        """Return the size of the largest body that is read for a path."""
        return FORM_BYTES_MAX if self._table.find("POST", path) else BODY_BYTES_MAX

    def is_long(self, request: HttpRequest) -> bool:
        """Whether an answer is not wanted once the browser has left: what changes something is finished."""
        return request.method == "GET"

    def refusal(self, status: int, sentence: str) -> Page:
        """Return the page for what could not be read as a request."""
        return Page(f"{sentence}\n".encode(), status, headers=security_headers(self.settings))

    async def answer(self, request: HttpRequest, host: str) -> Page:
        """Return the page for a request; no error of ours or of a broker goes further."""
        match = self._table.find(request.method, request.path)
        cookies = cookies_of(request.headers.get("cookie", ""))
        session = self.sessions.find(cookies.get(self.sessions.cookie_name, ""))
        knock = Knock(
            request,
            self.settings,
            None if match is None else match.route,
            None if session is None else session.user,
            "" if session is None else session.token,
        )
        refusal = refused(knock)
        if refusal is None and (static := self._static.find(request.path)) is not None:
            if request.method not in ("GET", "HEAD"):
                return self.refusal(405, "this file takes GET and HEAD")
            page = static.page(request.headers)
            return page._replace(headers=(*page.headers, *security_headers(self.settings)))
        preferences = preferences_of(cookies.get(COOKIE, ""))
        try:
            visit = self._visit(request, host, match, session, preferences)
            if refusal is not None:
                found: Answer = self._refused_view(visit, *refusal)
            else:
                found = await self._found(visit, match)
            return await self._page(visit, found)
        except PageError as error:  # a query or form that cannot be read
            return self.refusal(error.status, str(error))
        except Exception:
            logger.exception("internal error: %s %s", request.method, request.path)
            return self.refusal(500, "internal error; the console's log has its cause")

    # --- the page ----------------------------------------------------------------------------------------

    def _visit(
        self,
        request: HttpRequest,
        host: str,
        match: Match | None,
        session: Session | None,
        preferences: Preferences,
    ) -> Visit:
        kafka = self._everyone if session is None else session.kafka
        common = {"preferences": preferences, "settings": self.settings}
        return Visit(
            request=request,
            host=host,
            names={} if match is None else match.names,
            query=Fields(request.query),
            form=_form_of(request),
            preferences=preferences,
            kafka=kafka,
            settings=self.settings,
            user="" if session is None else session.user,
            token="" if session is None else session.token,
            render=lambda name, **context: self._templates.render(name, {**common, **context}),
            logins=self._logins,
            lags=self._lags,
            bars=self._bars,
        )

    async def _found(self, visit: Visit, match: Match | None) -> Answer:
        """Return the page's answer, or the view of what was in its way."""
        if match is None:
            methods = self._table.methods(visit.request.path)
            if methods:
                return error_view(405, f"this page takes {' and '.join(methods)}")
            return error_view(404, f"there is no page {visit.request.path}")
        route = match.route
        if route.streams and self._answers.streams >= STREAMS_MAX:
            return error_view(503, f"{STREAMS_MAX} pages follow something already; close one of them")
        try:
            with trio.fail_after(PAGE_SECONDS):
                found = await route.page(visit)
        except trio.TooSlowError:
            found = error_view(504, f"this took longer than {PAGE_SECONDS} seconds and was stopped")
        except CommandError as error:
            found = error_view(*told(error))
        if route.changes:
            self._note_change(visit, found)
        return found

    def _refused_view(self, visit: Visit, status: int, sentence: str) -> Answer:
        request = visit.request
        is_document = request.headers.get("sec-fetch-dest", "document") == "document"
        if status == 401 and request.method == "GET" and is_document and not visit.query.one("as"):
            return Redirect(with_query("/login", back=visit.here()))
        return error_view(status, sentence)

    def _note_change(self, visit: Visit, found: Answer) -> None:
        """Write a line about a change: who, from where, what, and whether it was made."""
        if isinstance(found, Done):
            what, outcome = found.sentence, "done"
        else:
            what = str(found.context.get("sentence", "")) if isinstance(found, View) else ""
            outcome = "not done"
        logger.info(
            "change %s: %s",
            outcome,
            what,
            extra={
                "user": visit.user or "-",
                "host": visit.host,
                "request": f"{visit.request.method} {visit.request.path}",
            },
        )

    async def _page(self, visit: Visit, found: Answer) -> Page:
        """Return an answer in the form that is asked for."""
        if isinstance(found, Done):
            key = secrets.token_urlsafe(6)
            self._sentences[key] = found.sentence
            while len(self._sentences) > SENTENCES_MAX:
                self._sentences.popitem(last=False)
            path, _, query = found.to.partition("?")
            found = Redirect(f"{path}?{Fields(query).changed({'done': key})}")
        if isinstance(found, View):
            if visit.query.one("as") and found.status < 400:
                try:
                    return self._answers.rows(visit, found)
                except PageError as error:
                    found = error_view(error.status, str(error))
            context = self._context(visit, found)
            html = await trio.to_thread.run_sync(self._templates.render, found.template, context)
            return self._zipped(visit, self._answers.html(html, found.status))
        return self._answers.other(found)

    def _context(self, visit: Visit, view: View) -> Mapping[str, Any]:
        return {
            "title": view.title,
            "crumbs": view.crumbs,
            "settings": self.settings,
            "preferences": visit.preferences,
            "user": visit.user,
            "visit": visit,
            "done": self._sentences.pop(visit.query.one("done"), ""),
            "has_rows": view.rows is not None,
            **view.context,
        }

    def _zipped(self, visit: Visit, page: Page) -> Page:
        if len(page.body) < ZIPPED_FROM_BYTES or not takes_gzip(visit.request.headers):
            return page
        headers = (*page.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
        return page._replace(body=gzip.compress(page.body, 4, mtime=0), headers=headers)


def _form_of(request: HttpRequest) -> Fields:
    """Return the fields of a form.  Raises: PageError for a body that is no urlencoded form."""
    if request.method != "POST" or not request.body:
        return Fields()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise PageError(415, f"a form is sent as {FORM}, not as {kind[:60]!r}")
    return Fields(request.body.decode("ascii", "replace"))


def error_view(status: int, sentence: str) -> View:
    """Return the page of something that went wrong."""
    title = {404: "Not found", 503: "Broker away", 403: "Refused", 401: "Log in"}.get(status, "Not possible")
    return View(
        title=title, template="error.html", context={"sentence": sentence, "status": status}, status=status
    )


def told(error: CommandError) -> tuple[int, str]:
    """Return the status and the sentence for an error with which a page has ended."""
    if isinstance(error, PageError):
        return error.status, str(error)
    if isinstance(error, NotAllowed):
        return 403, str(error)
    if isinstance(error, LinkLost):
        return 503, str(error)
    if isinstance(error, Refused):
        return STATUS_OF_REFUSALS.get(error.code, 502), str(error)
    return (400 if isinstance(error, UsageError) else 502), str(error)
