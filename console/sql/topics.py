"""Statements about topics; the server reads the definition of a view (docs/views.md).

CREATE TOPIC [IF NOT EXISTS] name [WITH META | ONLY META] AS …
RELOAD TOPIC [IF EXISTS] name [WITH META | ONLY META] AS …      another statement over the same source
ALTER TOPIC name SET configuration = value, …
DROP TOPIC [IF EXISTS] [FORCE] name
SHOW TOPICS      SHOW CREATE TOPIC name      DESCRIBE [TOPIC] name      DESC [TOPIC] name
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any, Final

from console.config_admin import describe, find_resource
from console.errors import CommandError
from console.sql.grammar import META, Form, Parts, form, name, plain_name
from console.sql.results import Result
from console.sql.session import UNKNOWN_TOPIC, Session
from console.sql.system_tables import TOPICS, rows_of
from console.sql.topic_requests import TOPIC_EXISTS, alter_topic, checked, create_topic, delete_topic
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction, TopicItem, TopicResult
from views.columns import parse_columns

OF_TOPIC: Final = 1
"""The source of a configuration that is the topic's own."""

SQL: Final = "kawal.sql"
ALIAS: Final = "kawal.alias.of"
BOUNDS: Final = ("kawal.from", "kawal.to", "kawal.replay.speed", "kawal.snapshot")
"""What only configurations say of a view."""


def _create(session: Session, parts: Parts) -> Result:
    topic, text = plain_name(parts["name"]), parts["whole"] or ""
    answer = create_topic(session, topic, {SQL: text})
    if answer.error_code == TOPIC_EXISTS and parts["lenient"]:
        _check_same(session.topic(topic), text)
        return Result(f"{topic} exists already")
    checked(answer, topic)
    return Result(f"created {topic}")


def _check_same(there: TopicResult, text: str) -> None:
    """Accept, for IF NOT EXISTS, the same view, but not another of that name.  Raises: CommandError."""
    if not there.statement:
        raise CommandError(f"{there.name!r} exists and is not a view")
    if there.statement != _definition(text):
        raise CommandError(f"{there.name!r} exists and is another view: {there.statement}")


def _definition(text: str) -> str:
    """Return what tells two definitions apart: the words after CREATE TOPIC name, whatever the blanks."""
    from views.statement import parse_view

    return parse_view(text).text


def _reload(session: Session, parts: Parts) -> Result:
    topic = plain_name(parts["name"])
    item = TopicItem(name=topic, statement=f"CREATE TOPIC `{topic}` {parts['definition']}")
    answer = session.ask(KawalTopicsRequest(action=TopicAction.RELOAD, topics=[item])).topics[0]
    if answer.error_code == UNKNOWN_TOPIC and parts["lenient"]:
        return Result(f"{topic} does not exist")
    checked(answer, topic)
    return Result(f"reloaded {topic}")


def _alter(session: Session, parts: Parts) -> Result:
    topic, text = plain_name(parts["name"]), parts["settings"] or ""
    settings = [(found["key"], _unquoted(found["value"])) for found in SETTING.finditer(text)]
    alter_topic(session, topic, settings)
    return Result(f"altered {topic}")


def _unquoted(text: str) -> str:
    value = text.strip()
    return value[1:-1] if value.startswith("'") else value


def _drop(session: Session, parts: Parts) -> Result:
    topic = plain_name(parts["name"])
    if parts["force"]:
        request = KawalTopicsRequest(action=TopicAction.DROP, topics=[TopicItem(name=topic)], force=True)
        answer: Any = session.ask(request).topics[0]
    else:
        answer = delete_topic(session, topic)
    if answer.error_code == UNKNOWN_TOPIC and parts["lenient"]:
        return Result(f"{topic} does not exist")
    checked(answer, topic)
    return Result(f"dropped {topic}")


def _show(session: Session, _: Parts) -> Result:
    names = ("topic_name", "type", "db_name", "partitions", "source", "meta", "create_time", "sql")
    return rows_of(TOPICS, session, names)


def _show_create(session: Session, parts: Parts) -> Result:
    topic = session.topic(plain_name(parts["name"]))
    if not topic.statement:
        raise CommandError(f"{topic.name!r} stores records: it was not created by a statement AS …")
    configs = _own_configs(session, topic.name)
    if ALIAS in configs or configs.keys() & set(BOUNDS):
        whole = _command(topic, configs)
    else:
        whole = f"CREATE TOPIC `{topic.name}` AS {topic.statement}"
    return Result(columns=("name", "statement"), rows=[(topic.name, whole)], text=whole)


def _own_configs(session: Session, topic: str) -> dict[str, str | None]:
    """Return the configurations that were set for a topic."""
    found = describe(find_resource(session.bootstrap, "topic", topic), (), synonyms=False)
    return {entry.name: entry.value for entry in found if entry.config_source == OF_TOPIC}


def _command(topic: TopicResult, configs: dict[str, str | None]) -> str:
    """Return the command that creates an alias or a view with bounds, for which there is no statement."""
    source = ALIAS if ALIAS in configs else SQL
    wanted = {SQL: topic.statement, **configs}
    options = [
        f"--config {shlex.quote(f'{name}={wanted[name]}')}"
        for name in (source, *BOUNDS)
        if wanted.get(name) is not None
    ]
    return " ".join(["kawal topics create", shlex.quote(topic.name), *options])


def _describe(session: Session, parts: Parts) -> Result:
    topic = session.topic(plain_name(parts["name"]))
    columns = _columns(topic)
    configs = _own_configs(session, topic.name)
    tree = {
        "name": topic.name,
        "type": topic.kind,
        "database": topic.database,
        "partitions": topic.partitions,
        "source": topic.source or None,
        "statement": topic.statement or None,
        "columns": [dict(zip(("field", "type", "note"), column, strict=True)) for column in columns],
        "configs": configs,
    }
    return Result(
        columns=("field", "type", "note"), rows=columns, text=_described(topic, columns, configs), tree=tree
    )


def _columns(topic: TopicResult) -> list[tuple[str, str, str]]:
    """Return the columns of a topic's records, as far as they are declared."""
    if topic.columns:
        declared = parse_columns(topic.columns)
        return [(column.name, str(column.type), "TAG" if column.is_tag else "") for column in declared]
    schema = json.loads(topic.schema) if topic.schema else {}
    return [(column["name"], column["type"], "") for column in schema.get("columns") or ()]


def _described(
    topic: TopicResult, columns: list[tuple[str, str, str]], configs: dict[str, str | None]
) -> str:
    from console.tables import table

    plural = "" if topic.partitions == 1 else "s"
    head = f"{topic.name}: {topic.kind}, {topic.partitions} partition{plural}, database {topic.database}"
    lines = [f"{head}, of {topic.source}" if topic.source else head]
    if columns:
        lines.append(table(("FIELD", "TYPE", "NOTE"), columns))
    if configs:
        lines.append(table(("CONFIGURATION", "VALUE"), list(configs.items())))
    return "\n".join(lines)


_SETTING: Final = r"[\w.-]+\s*=\s*(?:'[^']*'|[^,';]+)"
SETTING: Final = re.compile(r"(?P<key>[\w.-]+)\s*=\s*(?P<value>'[^']*'|[^,';]+)")
"""A configuration and its value; one with commas is put in quotes."""

_CREATED: Final = rf"(?P<whole>CREATE TOPIC (?P<lenient>IF NOT EXISTS )?{name()} {META}AS\b.*)"

FORMS: Final[tuple[Form, ...]] = (
    form(
        "CREATE TOPIC", _CREATED, _create, "CREATE TOPIC late AS SELECT carrier FROM flights WHERE delay > 15"
    ),
    form(
        "RELOAD TOPIC",
        rf"RELOAD TOPIC (?P<lenient>IF EXISTS )?{name()} (?P<definition>{META}AS\b.*)",
        _reload,
        "RELOAD TOPIC late AS SELECT carrier, gate FROM flights WHERE delay > 15",
    ),
    form(
        "ALTER TOPIC",
        rf"ALTER TOPIC {name()} SET (?P<settings>{_SETTING}(?:\s*,\s*{_SETTING})*)",
        _alter,
        "ALTER TOPIC orders SET kawal.partition.autosplit.mode = paused, retention.ms = 3600000",
    ),
    form(
        "DROP TOPIC",
        rf"DROP TOPIC (?P<lenient>IF EXISTS )?(?P<force>FORCE )?{name()}",
        _drop,
        "DROP TOPIC IF EXISTS late",
    ),
    form("SHOW TOPICS", "SHOW TOPICS", _show, "SHOW TOPICS"),
    form("SHOW CREATE TOPIC", rf"SHOW CREATE TOPIC {name()}", _show_create, "SHOW CREATE TOPIC late"),
    form("DESCRIBE", rf"DESC(?:RIBE)? (?:TOPIC )?{name()}", _describe, "DESCRIBE late"),
)
