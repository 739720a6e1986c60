"""`/map` and `/topics/T/readers`: which views are made of topics, and which groups read them."""

from __future__ import annotations

from typing import Final

from console.web.flow import Edge, around, drawing_of, flow_of
from console.web.pages.topic import TOPICS
from console.web.paging import page_of
from console.web.topic_facts import facts_of
from console.web.visit import Answer, Crumb, Rows, View, Visit, get

DRAWN_MAX: Final = 100
"""Steps that are drawn; a larger drawing could not be read."""


async def everything(visit: Visit) -> Answer:
    """Show the flow of all topics, or of those around `focus`."""
    edges = await visit.kafka.run(flow_of, visit.kafka.bootstrap)
    focus = visit.query.one("focus").strip()
    return _view(visit, around(edges, focus) if edges and focus else edges, "Map", focus)


async def readers(visit: Visit) -> Answer:
    """Show what is made of a topic, and who reads it."""
    topic = visit.names["topic"]
    facts = await visit.kafka.run(facts_of, visit.kafka.bootstrap, topic)
    edges = await visit.kafka.run(flow_of, visit.kafka.bootstrap)
    crumbs = (TOPICS, Crumb(facts.name, visit.request.path.removesuffix("/readers")))
    return _view(visit, None if edges is None else around(edges, topic), f"Readers of {topic}", topic, crumbs)


def _view(
    visit: Visit, edges: list[Edge] | None, title: str, focus: str, crumbs: tuple[Crumb, ...] = ()
) -> View:
    page = page_of(visit, edges or [])
    return View(
        title=title,
        template="map.html",
        context={
            "told": edges is not None,
            "page": page,
            "focus": focus,
            "topic": focus if crumbs else "",
            "drawing": drawing_of(page.items[:DRAWN_MAX]),
            "drawn_max": DRAWN_MAX,
        },
        rows=Rows(Edge._fields, page.items),
        crumbs=crumbs,
    )


ROUTES = (get("/map", everything), get("/topics/{topic}/readers", readers))
