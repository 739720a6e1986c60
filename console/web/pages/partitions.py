"""`/topics/T/partitions?count=`: more partitions, after a dry run."""

from __future__ import annotations

from console.errors import CommandError
from console.link import LinkLost
from console.web.command_text import command
from console.web.fields import Fields, path_to
from console.web.pages.topic import TOPICS
from console.web.plan import Plan
from console.web.rendering import number, plural
from console.web.topic_facts import facts_of
from console.web.topic_requests import set_partitions
from console.web.visit import Answer, Crumb, Done, View, Visit, change, get

COUNT_MAX = (1 << 31) - 1


async def show(visit: Visit) -> Answer:
    """Ask for a number of partitions, and show what it would mean."""
    name, kafka = visit.names["topic"], visit.kafka
    now = len((await kafka.run(facts_of, kafka.bootstrap, name)).partitions)
    text = visit.query.one("count").strip()
    plan = await _plan(visit, name, now, _count(visit.query)) if text else None
    return View(
        title=f"Partitions of {name}",
        template="partitions.html",
        context={"plan": plan, "topic": name, "count": text, "now": now},
        crumbs=(TOPICS, Crumb(name, path_to("topics", name))),
    )


def _count(fields: Fields) -> int:
    return fields.number("count", 0, low=1, high=COUNT_MAX)


async def _plan(visit: Visit, name: str, now: int, count: int) -> Plan:
    problem = ""
    if not visit.read_only:  # a dry run is a request that makes partitions, too
        try:
            await visit.kafka.run(set_partitions, visit.kafka.bootstrap, name, count, dry_run=True)
        except LinkLost:
            raise
        except CommandError as error:
            problem = str(error)
    effects = [
        f"{plural(count - now, 'partition')} more. Records stay where they are.",
        "New records of a key may go to another partition than earlier ones: their order is then not kept.",
        "Partitions can never be taken away.",
    ]
    return Plan(
        command=command(visit.settings.bootstrap, "topics alter", name, options=f"--partitions {count}"),
        action=path_to("topics", name, "partitions"),
        verb="Add partitions",
        differences=[("partitions", number(now), number(count))],
        effects=[] if problem else effects,
        fields=[("count", str(count))],
        problem=problem,
    )


async def add(visit: Visit) -> Answer:
    """Add the partitions."""
    name, count = visit.names["topic"], _count(visit.form)
    await visit.kafka.run(set_partitions, visit.kafka.bootstrap, name, count, dry_run=False)
    return Done(f"topic {name!r} has {plural(count, 'partition')}", path_to("topics", name))


ROUTES = (get("/topics/{topic}/partitions", show), change("/topics/{topic}/partitions", add))
