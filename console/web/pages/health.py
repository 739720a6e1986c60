"""The `/health` page: whether the broker answers, and what to do where it does not."""

from __future__ import annotations

from console.link import LinkLost
from console.web.health_facts import health_of
from console.web.visit import Answer, Rows, View, Visit, get

COLUMNS = ("broker", "address", "answers", "apis", "milliseconds", "kawal")


async def health(visit: Visit) -> Answer:
    """Show how the broker answers; 503 when it is not reached, and the console is there all the same."""
    kafka = visit.kafka
    try:
        facts = await kafka.run(health_of, kafka.bootstrap)
    except LinkLost as error:
        return View(
            title="Health",
            template="health.html",
            context={"facts": None, "problem": str(error)},
            status=503,
        )
    rows = [
        (node, address, True, facts.apis, facts.milliseconds, facts.kawal) for node, address in facts.brokers
    ]
    return View(
        title="Health",
        template="health.html",
        context={"facts": facts, "problem": ""},
        rows=Rows(COLUMNS, rows),
    )


ROUTES = (get("/health", health),)
