"""`/new/topic`, `/topics/T/delete` and `/topics/T/empty`: topics made, deleted, and freed of old records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from console import record_deletion
from console.config_admin import key_and_value
from console.errors import CommandError
from console.positions import parse_position
from console.record_deletion import Cut
from console.web.command_text import command, config_options, option
from console.web.dependents import Dependents, dependents_of
from console.web.fields import Fields, path_to
from console.web.pages.topic import TOPICS
from console.web.plan import Plan, check_confirmed, plan_view
from console.web.rendering import number, plural
from console.web.topic_facts import facts_of
from console.web.topic_requests import THE_BROKERS, create, cuts_before, delete
from console.web.visit import ROWS_MAX, Answer, Crumb, Done, View, Visit, change, get

PARTITIONS_MAX: Final = 1_000_000
NAMES_MAX: Final = 20
"""Views and groups that a plan names."""


async def new(visit: Visit) -> Answer:
    """Ask for a topic, and show whether it could be created."""
    name = visit.query.one("name").strip()
    plan = await _creation(visit, name) if name else None
    context = {"plan": plan, **{field: visit.query.one(field) for field in ("name", "partitions", "config")}}
    return View(title="New topic", template="new_topic.html", context=context, crumbs=(TOPICS,))


async def _creation(visit: Visit, name: str) -> Plan:
    fields, problem = visit.query, ""
    partitions, configs = _wanted(fields)
    if not visit.read_only:  # a dry run is a request that creates topics, too
        try:
            await visit.kafka.run(create, visit.kafka.bootstrap, name, partitions, configs, dry_run=True)
        except CommandError as error:
            problem = str(error)
    options = "" if partitions == THE_BROKERS else f"--partitions {partitions} "
    options += config_options(configs)
    return Plan(
        command=command(visit.settings.bootstrap, "topics create", name, options=options.strip()),
        action="/new/topic",
        verb="Create",
        effects=[] if problem or visit.read_only else ["The broker would take it as it is."],
        fields=[("name", name), *((field, fields.one(field)) for field in ("partitions", "config"))],
        problem=problem,
    )


async def make(visit: Visit) -> Answer:
    """Create the topic."""
    name = visit.form.one("name").strip()
    partitions, configs = _wanted(visit.form)
    await visit.kafka.run(create, visit.kafka.bootstrap, name, partitions, configs, dry_run=False)
    return Done(f"created topic {name!r}", path_to("topics", name))


def _wanted(fields: Fields) -> tuple[int, Mapping[str, str]]:
    """Return partitions and settings of a form.  Raises: PageError, UsageError."""
    partitions = fields.number("partitions", THE_BROKERS, low=1, high=PARTITIONS_MAX)
    lines = (line.strip() for line in fields.one("config").splitlines())
    return partitions, dict(key_and_value("the setting", line) for line in lines if line)


async def show_delete(visit: Visit) -> Answer:
    """Show what deleting a topic would do."""
    name, kafka = visit.names["topic"], visit.kafka
    facts = await kafka.run(facts_of, kafka.bootstrap, name)
    dependents = await kafka.run(dependents_of, kafka.bootstrap, name)
    effects = [f"{plural(len(facts.partitions), 'partition')} and all that is in them go for ever."]
    if facts.is_view:
        effects = ["It is computed: the records of its source stay."]
    else:
        total = sum((row.end or 0) - (row.start or 0) for row in facts.partitions)
        effects.append(f"Offsets with records: {number(total)}.")
    plan = Plan(
        command=command(visit.settings.bootstrap, "topics delete", name),
        action=path_to("topics", name, "delete"),
        verb="Delete",
        effects=[*effects, *_concerned(dependents)],
        confirm=name,
    )
    return plan_view(f"Delete {name}", plan, _crumbs(name))


def _concerned(dependents: Dependents) -> list[str]:
    """Return sentences about the views and groups of a topic."""
    if dependents.views is None or dependents.groups is None:
        return ["This broker does not tell which groups read it."]
    found = []
    for names, noun, none in (
        (dependents.views, "view", "No view is made of it."),
        (dependents.groups, "group", "No group reads it."),
    ):
        more = f" and {number(len(names) - NAMES_MAX)} more" if len(names) > NAMES_MAX else ""
        shown = f"{plural(len(names), noun)}: {', '.join(names[:NAMES_MAX])}{more}."
        found.append(shown if names else none)
    return found


async def remove(visit: Visit) -> Answer:
    """Delete the topic."""
    name = visit.names["topic"]
    check_confirmed(visit, name)
    await visit.kafka.run(delete, visit.kafka.bootstrap, name)
    return Done(f"deleted topic {name!r}", "/topics")


async def show_empty(visit: Visit) -> Answer:
    """Show which records lie before a position."""
    name, before = visit.names["topic"], visit.query.one("before").strip()
    plan = await _emptying(visit, name, before) if before else None
    context = {"plan": plan, "topic": name, "before": before}
    return View(
        title=f"Delete records of {name}", template="empty_topic.html", context=context, crumbs=_crumbs(name)
    )


async def _emptying(visit: Visit, name: str, before: str) -> Plan:
    cuts: list[Cut] = []
    problem = ""
    try:
        position = parse_position(before, "before")
        cuts = await visit.kafka.run(cuts_before, visit.kafka.bootstrap, name, position)
    except CommandError as error:
        problem = str(error)
    gone = sum(cut.before - cut.start for cut in cuts)
    effects = [f"Offsets that go for ever: {number(gone)}, in {plural(len(cuts), 'partition')}."]
    if len(cuts) > ROWS_MAX:
        effects.append(f"The first {ROWS_MAX} partitions are shown.")
    return Plan(
        command=command(
            visit.settings.bootstrap, "topics delete-records", name, options=option("before", before)
        ),
        action=path_to("topics", name, "empty"),
        verb="Delete records",
        differences=[
            (f"start of partition {cut.partition}", number(cut.start), number(cut.before))
            for cut in cuts[:ROWS_MAX]
        ],
        effects=[] if problem else effects,
        fields=[("before", before)],
        confirm=name,
        problem=problem,
    )


async def empty(visit: Visit) -> Answer:
    """Delete the records before the position."""
    name, kafka = visit.names["topic"], visit.kafka
    check_confirmed(visit, name)
    position = parse_position(visit.form.one("before"), "before")
    cuts = await kafka.run(cuts_before, kafka.bootstrap, name, position)
    await kafka.run(record_deletion.delete, kafka.bootstrap, name, cuts)
    gone = sum(cut.before - cut.start for cut in cuts)
    return Done(f"deleted {number(gone)} offsets of topic {name!r}", path_to("topics", name))


def _crumbs(name: str) -> tuple[Crumb, ...]:
    return TOPICS, Crumb(name, path_to("topics", name))


ROUTES = (
    get("/new/topic", new),
    change("/new/topic", make),
    get("/topics/{topic}/delete", show_delete),
    change("/topics/{topic}/delete", remove),
    get("/topics/{topic}/empty", show_empty),
    change("/topics/{topic}/empty", empty),
)
