"""Which process serves the pages of HTTP."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from broker.config.config import config_of
from broker.server.web import open_web

OFF = config_of({"kawal.http.listen": "none", "kawal.console.listeners": "none"})


class Place:
    """A place whose pages another process shows, or which shows all."""

    def __init__(self, pages: Any) -> None:
        self.pages = pages

    def joined(self, pages: Any) -> Any:
        return ("all", pages)


def test_a_place_whose_pages_another_shows_serves_them_on_its_socket() -> None:
    place: Any = Place("socket")
    pages: Any = "pages"
    web: Any = open_web(OFF, pages, None, ExitStack(), place)
    assert (web.http, web.pages, web.problems) == ("socket", "pages", [])


def test_a_place_that_shows_its_own_pages_may_join_others_to_them() -> None:
    place: Any = Place(None)
    pages: Any = "pages"
    joined: Any = open_web(OFF, pages, None, ExitStack(), place).pages
    own: Any = open_web(OFF, pages, None, ExitStack()).pages
    assert (joined, own) == (("all", "pages"), "pages")
