"""`/audit`: the newest events of the audit log, where the broker keeps them in a topic."""

from __future__ import annotations

from typing import Final

from console.link import LinkLost
from console.web.errors import PageError
from console.web.fields import path_to, with_query
from console.web.topic_facts import facts_of
from console.web.visit import Answer, Redirect, View, Visit, get

TOPIC: Final = "__kawal_audit"
MEMBERS: Final = "event,outcome,user,address,request,resource"
"""The members of an event that are columns."""


async def audit(visit: Visit) -> Answer:
    """Lead to the events, or say how they are kept.  Raises: CommandError."""
    try:
        await visit.kafka.run(facts_of, visit.kafka.bootstrap, TOPIC)
    except LinkLost:
        raise
    except PageError:
        return View(title="Audit log", template="audit.html")
    return Redirect(with_query(path_to("topics", TOPIC, "records"), cols=MEMBERS))


ROUTES = (get("/audit", audit),)
