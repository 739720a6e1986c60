"""The request as a page sees it."""

from __future__ import annotations

import trio

from console.web.routes import Table
from console.web.visit import Answer, Route, View, Visit, change, get, stream
from tests.console.web.kit import Web


async def page(visit: Visit) -> Answer:
    await trio.lowlevel.checkpoint()
    piece = visit.render("macros.html")
    words = [
        visit.here(q="ü", from_=3, sort=None),
        visit.last_event,
        visit.names["name"],
        str(visit.read_only),
    ]
    return View(
        title="t",
        template="error.html",
        context={"sentence": " | ".join(words) + piece.strip(), "status": 200},
    )


def test_it_knows_its_address_its_names_and_the_last_event() -> None:
    web = Web(table=Table((get("/p/{name}", page),)), read_only=True)
    answer = web.get("/p/a%2Fb?q=1&sort=x", headers={"Last-Event-ID": "0:7"})
    assert answer.problem == "/p/a%2Fb?q=%C3%BC&from=3 | 0:7 | a/b | True"


def test_routes_say_what_the_frame_must_know() -> None:
    assert get("/a", page) == Route("GET", "/a", page)
    assert stream("/a", page) == Route("GET", "/a", page, streams=True)
    assert change("/a", page) == Route("POST", "/a", page, changes=True)
