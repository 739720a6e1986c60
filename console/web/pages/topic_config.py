"""`/topics/T/config`: a topic's settings, those that differ from the default first, and their change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from console.config_admin import CHANGED, DELETE, SET, SOURCES, Resource, alter, describe, find_resource
from console.errors import CommandError
from console.web.command_text import command, option
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.pages.topic import TOPICS
from console.web.plan import Plan, plan_view
from console.web.visit import Answer, Crumb, Done, Rows, View, Visit, change, get
from protocol.messages.describe_configs import DescribeConfigsResourceResult
from protocol.messages.incremental_alter_configs import AlterableConfig

DEFAULT: Final = "default"
OF_THE_TOPIC: Final = 1
"""The source of a topic's own settings in DescribeConfigs."""
ACTIONS: Final = ("set", DEFAULT)


class ConfigRow(NamedTuple):
    """A setting; the value is None where it is secret or not set."""

    name: str
    value: str | None
    beneath: str | None
    """The broker's setting, KEY=VALUE, that holds without the topic's own; None where it is not told.

    Its unit may be another: log.retention.hours stands beneath retention.ms.
    """
    source: str
    differs: bool
    secret: bool
    read_only: bool
    documentation: str


def config_rows(bootstrap: str, topic: str) -> list[ConfigRow]:
    """Return the settings, those that differ from the default first.  Raises: CommandError."""
    found = describe(find_resource(bootstrap, "topic", topic), [], synonyms=True)
    return sorted(map(_row, found), key=lambda row: (not row.differs, row.name))


def _row(config: DescribeConfigsResourceResult) -> ConfigRow:
    beneath = [
        f"{synonym.name}={synonym.value}" for synonym in config.synonyms if synonym.source != OF_THE_TOPIC
    ]
    return ConfigRow(
        config.name,
        None if config.is_sensitive else config.value,
        None if config.is_sensitive or not beneath else beneath[0],
        SOURCES.get(config.config_source, "?"),
        config.config_source in CHANGED,
        config.is_sensitive,
        config.read_only,
        config.documentation or "",
    )


async def config(visit: Visit) -> Answer:
    """Show the settings, or with `name` the change of one."""
    topic, wanted = visit.names["topic"], visit.query.one("name").strip()
    rows = await visit.kafka.run(config_rows, visit.kafka.bootstrap, topic)
    crumbs = (TOPICS, Crumb(topic, path_to("topics", topic)))
    if wanted:
        plan = await _plan(visit, topic, {row.name: row for row in rows}, wanted)
        settings = Crumb("Settings", path_to("topics", topic, "config"))
        return plan_view(f"Change {wanted}", plan, (*crumbs, settings))
    chosen = visit.query.one("edit")
    edited = next((row for row in rows if row.name == chosen), None)
    if chosen and edited is None:
        raise PageError(404, f"topics have no setting {chosen!r}")
    return View(
        title=f"Settings of {topic}",
        template="topic_config.html",
        context={"topic": topic, "rows": rows, "edited": edited},
        rows=Rows(ConfigRow._fields, rows),
        crumbs=crumbs,
    )


async def _plan(visit: Visit, topic: str, rows: Mapping[str, ConfigRow], name: str) -> Plan:
    action, value = visit.query.choice("action", ACTIONS), visit.query.one("value")
    now = rows.get(name)
    problem = "" if now else f"topics have no setting {name!r}"
    if now and not visit.read_only:  # a dry run is a request that changes settings, too
        try:
            await visit.kafka.run(
                _alter, visit.kafka.bootstrap, topic, _changes(name, action, value), dry_run=True
            )
        except CommandError as error:
            problem = str(error)
    differs = _difference(now, action, value) if now else ()
    change = option("delete-config", name) if action == DEFAULT else option("config", f"{name}={value}")
    return Plan(
        command=command(visit.settings.bootstrap, "topics alter", topic, options=change),
        action=path_to("topics", topic, "config"),
        verb="Change",
        differences=differs,
        fields=[("name", name), ("action", action), ("value", value)],
        problem=problem,
    )


def _difference(now: ConfigRow, action: str, value: str) -> Sequence[tuple[str, str, str]]:
    before = "not shown" if now.secret else "not set" if now.value is None else now.value
    default = "the default" if now.beneath is None else now.beneath
    return [(now.name, before, default if action == DEFAULT else value)]


async def keep(visit: Visit) -> Answer:
    """Change the setting."""
    topic, name = visit.names["topic"], visit.form.one("name")
    action, value = visit.form.choice("action", ACTIONS), visit.form.one("value")
    await visit.kafka.run(_alter, visit.kafka.bootstrap, topic, _changes(name, action, value), dry_run=False)
    what = "back to its default" if action == DEFAULT else f"= {value}"
    return Done(f"topic {topic!r}: {name} {what}", path_to("topics", topic, "config"))


def _changes(name: str, action: str, value: str) -> list[AlterableConfig]:
    if action == DEFAULT:
        return [AlterableConfig(name=name, config_operation=DELETE, value=None)]
    return [AlterableConfig(name=name, config_operation=SET, value=value)]


def _alter(bootstrap: str, topic: str, changes: list[AlterableConfig], *, dry_run: bool) -> None:
    resource: Resource = find_resource(bootstrap, "topic", topic)
    alter(resource, changes, dry_run=dry_run)


ROUTES = (get("/topics/{topic}/config", config), change("/topics/{topic}/config", keep))
