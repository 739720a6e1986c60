"""`/topics/T`: a topic's partitions and settings."""

from __future__ import annotations

from console.web.paging import page_of
from console.web.topic_facts import PartitionRow, facts_of
from console.web.visit import Answer, Crumb, Rows, View, Visit, get

TOPICS = Crumb("Topics", "/topics")


async def topic(visit: Visit) -> Answer:
    """Show a topic."""
    facts = await visit.kafka.run(facts_of, visit.kafka.bootstrap, visit.names["topic"])
    known = [row for row in facts.partitions if row.start is not None and row.end is not None]
    total = sum((row.end or 0) - (row.start or 0) for row in known)
    page = page_of(visit, facts.partitions)
    return View(
        title=facts.name,
        template="topic.html",
        context={"facts": facts, "page": page, "total": total},
        rows=Rows(PartitionRow._fields, page.items),
        crumbs=(TOPICS,),
    )


ROUTES = (get("/topics/{topic}", topic),)
