"""`/topics/T/alias?from=&until=`: another name for a topic that shows a window of it, at a pace if wanted."""

from __future__ import annotations

import re
from typing import Final

from console.positions import Position, PositionKind, parse_position
from console.web.creation import create_command, create_topic, problem_of_creation
from console.web.errors import PageError
from console.web.fields import Fields, path_to
from console.web.pages.topic import TOPICS
from console.web.plan import Plan, plan_view
from console.web.visit import Answer, Crumb, Done, View, Visit, change, get

ALIAS, FROM, TO, SPEED = "kawal.alias.of", "kawal.from", "kawal.to", "kawal.replay.speed"
NAMES: Final = ("name", "from", "until", "speed")


async def alias(visit: Visit) -> Answer:
    """Ask for a name, or show the plan."""
    topic, name = visit.names["topic"], visit.query.one("name").strip()
    crumbs = (TOPICS, Crumb(topic, path_to("topics", topic)))
    configs = configs_of(topic, visit.query)
    if not name:
        fields = {field: visit.query.one(field).strip() for field in NAMES}
        context = {"topic": topic, "fields": fields}
        return View(
            title=f"An alias of a window of {topic}", template="alias.html", context=context, crumbs=crumbs
        )
    problem = ""
    if not visit.read_only:
        problem = await visit.kafka.run(problem_of_creation, visit.kafka.bootstrap, name, configs)
    plan = Plan(
        command=create_command(visit.settings.bootstrap, name, configs),
        action=path_to("topics", topic, "alias"),
        verb=f"Create {name}",
        differences=[(f"topic {name}: {key}", "", value) for key, value in configs.items()],
        effects=(f"It shows records of {topic}, and has none of its own.",),
        fields=[(field, visit.query.one(field).strip()) for field in NAMES],
        problem=problem,
    )
    return plan_view("Create an alias", plan, crumbs)


async def create(visit: Visit) -> Answer:
    """Create the alias of the form."""
    topic, name = visit.names["topic"], visit.form.one("name").strip()
    if not name:
        raise PageError(400, "the alias needs a name")
    configs = configs_of(topic, visit.form)
    await visit.kafka.run(create_topic, visit.kafka.bootstrap, name, configs, dry_run=False)
    return Done(f"created {name!r}, an alias of {topic!r}", path_to("topics", name, "records"))


def configs_of(topic: str, fields: Fields) -> dict[str, str]:
    """Return the configurations of an alias.  Raises: PageError, UsageError."""
    configs = {ALIAS: topic}
    for field, key in (("from", FROM), ("until", TO)):
        text = fields.one(field).strip()
        if text and (bound := _bound(parse_position(text, field), text, field)):
            configs[key] = bound
    speed = fields.one("speed").strip()
    if speed and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", speed):
        raise PageError(400, f"the speed is {speed[:40]!r}; 1 is the original pace, 10 ten times as fast")
    return configs | ({SPEED: speed} if speed else {})


def _bound(position: Position, text: str, field: str) -> str:
    """Return a position as a bound of a view has it; "" for what is no bound."""
    match position.kind:
        case PositionKind.TIME:
            return str(position.number)
        case PositionKind.OFFSET:
            return f"offset {position.number}"
        case PositionKind.BEFORE_END:
            raise PageError(400, f"{field} is {text!r}; a window begins and ends at a time or an offset")
        case _:
            return ""


ROUTES = (get("/topics/{topic}/alias", alias), change("/topics/{topic}/alias", create))
