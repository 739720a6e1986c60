"""`/topics/T/columns`: columns proposed from a topic's records, to be declared."""

from __future__ import annotations

from console.web.command_text import command, option
from console.web.creation import problem_of_config, set_config
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.masks import Masks
from console.web.pages.topic import TOPICS
from console.web.plan import Plan, plan_view
from console.web.proposal import RECORDS, Proposal, propose
from console.web.ranges import Asked, range_of
from console.web.raw_values import last_values
from console.web.sources import COLUMNS, Source, source_of
from console.web.visit import Answer, Crumb, Done, Rows, View, Visit, change, get


async def columns(visit: Visit) -> Answer:
    """Propose columns, or show the plan to declare those that are given."""
    topic, text = visit.names["topic"], visit.query.one("columns").strip()
    crumbs = (TOPICS, Crumb(topic, path_to("topics", topic)))
    bootstrap, masks = visit.kafka.bootstrap, visit.settings.masks
    if text:
        source = await visit.kafka.run(source_of, bootstrap, topic, masks)
        return plan_view("Declare columns", await _plan(visit, topic, source, text), crumbs)
    source, found = await visit.kafka.run(find_proposal, bootstrap, topic, masks)
    proposed = [(column.name, str(column.type)) for column in found.columns or ()]
    return View(
        title=f"Columns of {topic}",
        template="columns.html",
        context={"topic": topic, "source": source, "found": found, "text": str(found.columns or "")},
        rows=Rows(("name", "type"), proposed),
        crumbs=crumbs,
    )


async def declare(visit: Visit) -> Answer:
    """Declare the columns of the form."""
    topic, text = visit.names["topic"], visit.form.one("columns").strip()
    if not text:
        raise PageError(400, "no columns are given")
    await visit.kafka.run(set_config, visit.kafka.bootstrap, topic, COLUMNS, text, dry_run=False)
    return Done(f"declared the columns of {topic!r}: {text}", path_to("topics", topic, "records"))


def find_proposal(bootstrap: str, topic: str, masks: Masks) -> tuple[Source, Proposal]:
    """Return what is known of a topic, and what its newest records propose.  Raises: CommandError."""
    source = source_of(bootstrap, topic, masks)
    span = range_of(bootstrap, Asked(topic, "", "", (), "newest", {}))
    values = last_values(bootstrap, span, RECORDS, source.mask)
    return source, propose(values, source.mask)


async def _plan(visit: Visit, topic: str, source: Source, text: str) -> Plan:
    problem = ""
    if not visit.read_only:
        problem = await visit.kafka.run(problem_of_config, visit.kafka.bootstrap, topic, COLUMNS, text)
    change = option("config", f"{COLUMNS}={text}")
    return Plan(
        command=command(visit.settings.bootstrap, "topics alter", topic, options=change),
        action=path_to("topics", topic, "columns"),
        verb="Declare them",
        differences=((COLUMNS, str(source.columns or "none"), text),),
        effects=(
            "Records stay as they are. Searches and views can use the columns; what does not fit them is on "
            "the tab Unfit.",
        ),
        fields=(("columns", text),),
        problem=problem,
    )


ROUTES = (get("/topics/{topic}/columns", columns), change("/topics/{topic}/columns", declare))
