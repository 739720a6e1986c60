"""The types between the frame and the pages: a page takes a `Visit` and returns an `Answer`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from broker.server.http_conversation import HttpRequest, Send
from console.web.fields import Fields
from console.web.kafka_door import Kafka
from console.web.kept_bars import KeptBars
from console.web.lag_history import LagHistory
from console.web.masks import Masks
from console.web.preferences import Preferences
from console.web.sessions import Logins

ROWS_MAX: Final = 200
"""Rows on a page: 1,000 cost a browser 0.9 s."""

FORM_BYTES_MAX: Final = 1 << 20


class Gateway(NamedTuple):
    """The gateway that has started this console."""

    flags: tuple[str, ...] = ()
    """Its command line, as far as it decides the configuration."""
    metrics: str = ""
    """The address of its metrics, if programs of this machine may read them without a login."""


class Settings(NamedTuple):
    """The choices of the operator."""

    bootstrap: str
    read_only: bool = False
    login: bool = False
    """Whether people log in as users of the broker."""
    https: bool = False
    """Whether browsers come by HTTPS, through a proxy."""
    loopback: bool = True
    """Whether only this machine reaches the console."""
    hosts: tuple[str, ...] = ()
    """Names besides those of this machine by which the console may be called."""
    masks: Masks = Masks()
    """Parts of records that are shown to no one."""
    gateway: Gateway = Gateway()


class Crumb(NamedTuple):
    """A page above this one."""

    label: str
    path: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A page's rows with exact values (anything that JSON has): `?as=json`, `jsonl` and `csv` are made of
    it."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A page: a template with its context, or its rows in the format that is asked for."""

    title: str
    template: str
    context: Mapping[str, Any] = field(default_factory=dict)
    rows: Rows | None = None
    crumbs: Sequence[Crumb] = ()
    status: int = 200


class Redirect(NamedTuple):
    """Another page, to be fetched by GET."""

    to: str
    cookies: tuple[str, ...] = ()
    """Set-Cookie headers."""


class Done(NamedTuple):
    """A change that was made: one line in the log, and a sentence on top of the page that comes next."""

    sentence: str
    to: str


class Download(NamedTuple):
    """Bytes for a file: never shown by the browser."""

    body: bytes
    name: str


class Streamed(NamedTuple):
    """An answer in pieces, cancelled when the browser leaves; with a name it is a file."""

    run: Callable[[Send], Awaitable[None]]
    content_type: str
    name: str = ""


class Events(NamedTuple):
    """Server-sent events: `run` is given `tell(html, event="", id="")`, and is cancelled when the browser
    leaves.

    `Visit.last_event` has the id of the last event that the browser has seen.
    """

    run: Callable[[Tell], Awaitable[None]]


Tell = Callable[..., Awaitable[None]]
Answer = View | Redirect | Done | Download | Streamed | Events


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request with everything that its page may need."""

    request: HttpRequest
    host: str
    """The address that it came from."""
    names: Mapping[str, str]
    """The names in the path, decoded."""
    query: Fields
    form: Fields
    preferences: Preferences
    kafka: Kafka
    settings: Settings
    user: str = ""
    """The user who is logged in; "" where there are no logins."""
    token: str = ""
    """The secret by which a script proves that it acts for this login (header X-Kawal-Token)."""
    render: Callable[..., str]
    """Renders a template with a context, for the pieces of a page that follow by themselves."""
    logins: Logins
    bars: KeptBars
    """The histograms of the ranges that were looked at last."""
    lags: LagHistory
    """The lag of groups over the time in which their pages were looked at."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be changed: pages offer no changes then."""
        return self.settings.read_only

    @property
    def last_event(self) -> str:
        """The id of the last event that the browser has seen of a stream."""
        return self.request.headers.get("last-event-id", "")

    def here(self, **changes: str | int | None) -> str:
        """Return this page's address with some fields of its query replaced; `from_` is `from`."""
        query = self.query.changed({name.rstrip("_"): value for name, value in changes.items()})
        return f"{self.request.path}?{query}" if query else self.request.path


PageFunction = Callable[[Visit], Awaitable[Answer]]


class Route(NamedTuple):
    """A page of the table: the method and pattern of its path, and what the frame must know of it."""

    method: str
    pattern: str
    page: PageFunction
    changes: bool = False
    """Whether it changes something on the broker; refused while the console is read-only."""
    streams: bool = False
    """Whether it answers with Events or Streamed."""
    without_login: bool = False


def get(pattern: str, page: PageFunction) -> Route:
    """Return the route of a page that only shows."""
    return Route("GET", pattern, page)


def stream(pattern: str, page: PageFunction) -> Route:
    """Return the route of a page that answers with Events or Streamed."""
    return Route("GET", pattern, page, streams=True)


def change(pattern: str, page: PageFunction) -> Route:
    """Return the route of a form that changes something on the broker."""
    return Route("POST", pattern, page, changes=True)
