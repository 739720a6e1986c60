"""The gates that every request passes before its page: a table, in order.

Each takes the request and returns a status and a sentence when it does not let it pass.  Host and
Sec-Fetch-Site are what a browser says by itself, and no page in it can change.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from broker.config.endpoints import is_loopback
from broker.server.http import host_name
from broker.server.http_conversation import HttpRequest
from console.web.visit import Route, Settings

PROOF_HEADER: Final = "x-kawal-token"
OWN_SITE: Final = ("same-origin", "none")
"""Values of Sec-Fetch-Site: by a page of ours, by the person alone."""


class Knock(NamedTuple):
    """A request at the gates."""

    request: HttpRequest
    settings: Settings
    route: Route | None
    """None: a static file, or nothing."""
    user: str | None
    """The user who is logged in; None: no one is."""
    token: str


Refusal = tuple[int, str]


def called_by_known_name(knock: Knock) -> Refusal | None:
    """Let pass what calls this machine, or the console by a name that the operator has given.

    Otherwise a web page could, by DNS rebinding, read what is served to its visitor.
    """
    host = knock.request.headers.get("host", "")
    name = host_name(host)
    if host and (is_loopback(name) or name in knock.settings.hosts):
        return None
    return 421, "this address answers for localhost, and for names given with --host"


def fetched_by_own_pages(knock: Knock) -> Refusal | None:
    """Let pass what pages of other sites cause only if it opens a document for a person to see."""
    headers = knock.request.headers
    if headers.get("sec-fetch-site", "none") in OWN_SITE:
        return None
    navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if navigates and knock.request.method in ("GET", "HEAD"):
        return None
    return 403, "a page of another site asked for this; only links to pages may come from there"


def _is_ours(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:  # as of http://[, which no browser sends
        return False
    return parts.scheme in ("http", "https") and parts.netloc == host


def changed_by_own_pages(knock: Knock) -> Refusal | None:
    """Let forms pass that pages of ours have sent, or a script that proves that it is no browser's.

    A browser that does not say Sec-Fetch-Site says Origin; what says neither is no browser.
    """
    request, settings = knock.request, knock.settings
    if request.method in ("GET", "HEAD"):
        return None
    headers = request.headers
    if "sec-fetch-site" in headers:
        allowed = headers["sec-fetch-site"] in OWN_SITE
    elif "origin" in headers:
        allowed = _is_ours(headers["origin"], headers.get("host", ""))
    elif settings.loopback and not settings.login:
        allowed = True
    else:
        allowed = bool(knock.token) and hmac.compare_digest(
            headers.get(PROOF_HEADER, "").encode(), knock.token.encode()
        )
    if allowed:
        return None
    return (
        403,
        f"this form was not sent by a page of this console; scripts send {PROOF_HEADER}, see /settings",
    )


def logged_in(knock: Knock) -> Refusal | None:
    """Let pass those who have logged in, where people do, and everything that leads there."""
    if not knock.settings.login or knock.user is not None or knock.route is None:
        return None
    return None if knock.route.without_login else (401, "log in first")


def changes_allowed(knock: Knock) -> Refusal | None:
    """Let no change pass while the console is read-only; the door to the brokers makes sure of it once
    more."""
    if knock.settings.read_only and knock.route is not None and knock.route.changes:
        return 403, "the console is read-only: it was started so that nothing can be changed"
    return None


GATES: Final[tuple[Callable[[Knock], Refusal | None], ...]] = (
    called_by_known_name,
    fetched_by_own_pages,
    changed_by_own_pages,
    logged_in,
    changes_allowed,
)


def refused(knock: Knock) -> Refusal | None:
    """Return why a request does not pass, None if it does."""
    for gate in GATES:
        if (refusal := gate(knock)) is not None:
            return refusal
    return None
