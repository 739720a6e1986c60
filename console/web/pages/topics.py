"""`/topics?q=&sort=&internal=`: all topics, found by a part of their name."""

from __future__ import annotations

from typing import Final

from console.web.paging import page_of
from console.web.topic_list import TopicRow, topics_of
from console.web.visit import Answer, Rows, View, Visit, get

SORTS: Final = ("name", "-name", "partitions", "-partitions")


async def topics(visit: Visit) -> Answer:
    """Show the topics whose name has the text that is looked for, 200 on a page."""
    _, found = await visit.kafka.run(topics_of, visit.kafka.bootstrap)
    wanted, sort = visit.query.one("q").strip(), visit.query.choice("sort", SORTS)
    internal = visit.query.one("internal") == "yes"
    rows = [
        topic for topic in found if (internal or not topic.internal) and wanted.lower() in topic.name.lower()
    ]
    if sort.endswith("partitions"):
        rows.sort(key=lambda topic: topic.partitions)
    if sort.startswith("-"):
        rows.reverse()
    page = page_of(visit, rows)
    return View(
        title="Topics",
        template="topics.html",
        context={"page": page, "q": wanted, "sort": sort, "internal": internal, "total": len(found)},
        rows=Rows(TopicRow._fields, page.items),
    )


ROUTES = (get("/topics", topics),)
