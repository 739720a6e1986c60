"""The gates one by one; test_site tries them on every route."""

from __future__ import annotations

import pytest

from broker.server.http_conversation import HttpRequest
from console.web.gates import Knock, refused
from console.web.visit import Answer, Route, Settings, Visit


async def page(_: Visit) -> Answer:
    raise AssertionError


DEFAULT = Settings("b:1")
OPEN = Route("GET", "/x", page)


def status(
    method: str = "GET",
    *,
    settings: Settings = DEFAULT,
    user: str | None = None,
    token: str = "",
    route: Route | None = OPEN,
    **headers: str,
) -> int:
    """Return the status with which a request is refused, 0 if it passes."""
    given = {"host": "localhost:9645", **{name.replace("_", "-"): value for name, value in headers.items()}}
    knock = Knock(HttpRequest(method, "/x", "", given, b""), settings, route, user, token)
    found = refused(knock)
    return found[0] if found else 0


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "127.0.0.1.evil.example", "evil@localhost", "0.0.0.0", "2130706433", "10.0.0.1"],
)
def test_other_names_are_not_answered(host: str) -> None:
    assert status(host=host) == 421
    assert status("POST", host=host) == 421


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.:9645", "127.0.0.1:80", "[::1]:9645", "kafka.example:1"]
)
def test_known_names_are_answered(host: str) -> None:
    assert status(host=host, settings=Settings("b:1", hosts=("kafka.example",))) == 0


def test_a_picture_or_a_script_from_elsewhere_is_not_answered() -> None:
    for kind in ("image", "script", "iframe", "empty", "style"):
        assert status(sec_fetch_site="cross-site", sec_fetch_mode="no-cors", sec_fetch_dest=kind) == 403
    assert status(sec_fetch_site="cross-site", sec_fetch_mode="navigate", sec_fetch_dest="iframe") == 403
    assert status(sec_fetch_site="cross-site", sec_fetch_mode="navigate", sec_fetch_dest="document") == 0


def test_a_form_from_elsewhere_is_refused_also_as_a_navigation() -> None:
    for site, found in (("cross-site", 403), ("same-site", 403), ("same-origin", 0)):
        assert (
            status("POST", sec_fetch_site=site, sec_fetch_mode="navigate", sec_fetch_dest="document") == found
        )
    assert status("DELETE", sec_fetch_site="cross-site") == 403


def test_without_sec_fetch_site_the_origin_counts() -> None:
    assert status("POST", origin="http://localhost:9645") == 0
    assert status("POST", origin="http://localhost:9646") == 403
    assert status("POST", origin="null") == 403
    for origin in (
        "http://[localhost",
        "http://localhost:9645@evil.example",
        "http://[::1%",
        "//localhost:9645",
    ):
        assert status("POST", origin=origin) == 403


def test_what_is_no_browser_proves_itself_where_people_log_in_or_come_from_afar() -> None:
    assert status("POST") == 0
    login = Settings("b:1", login=True)
    assert status("POST", settings=login, user="ada", token="t" * 32) == 403
    assert status("POST", settings=login, user="ada", token="t" * 32, x_kawal_token="t" * 32) == 0
    assert status("POST", settings=login, user="ada", token="t" * 32, x_kawal_token="ü") == 403
    assert (
        status("POST", settings=Settings("b:1", loopback=False, hosts=("localhost",)), x_kawal_token="")
        == 403
    )


def test_pages_are_for_those_who_have_logged_in_and_static_files_for_all() -> None:
    login = Settings("b:1", login=True)
    assert status(settings=login) == 401
    assert status(settings=login, user="ada") == 0
    assert status(settings=login, route=None) == 0
    assert status(settings=login, route=OPEN._replace(without_login=True)) == 0


def test_changes_do_not_pass_while_read_only() -> None:
    change = Route("POST", "/x", page, changes=True)
    assert status("POST", settings=Settings("b:1", read_only=True), route=change) == 403
    assert status("POST", route=change) == 0
