"""The topic configurations that Kafka does not have: where it lies, what makes a view, how views read it.

A key is listed by DescribeConfigs where it says something.  Those of `FIXED_NAMES` are settled when the topic
is created; those of `SHOWN_ONLY` follow from it and cannot be set at all.
"""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import ConfigType, Key, Value
from broker.config.topic_names import name_problem
from broker.config.view_bounds import parse_bound, parse_speed

STRING: Final = ConfigType.STRING


def _columns_problem(value: Value) -> str | None:
    """What is wrong with declared columns; the parser is loaded with the first that are declared."""
    from views.columns import parse_columns
    from views.errors import ViewError

    try:
        parse_columns(str(value))
    except ViewError as error:
        return str(error)
    return None


def _topic_problem(value: Value) -> str | None:
    """What is wrong with the name of a topic; none at all is none."""
    return name_problem(str(value)) if value else None


def _bound_problem(value: Value) -> str | None:
    """What is wrong with a bound."""
    try:
        parse_bound(str(value))
    except ValueError as error:
        return str(error)
    return None


def _speed_problem(value: Value) -> str | None:
    """What is wrong with a speed."""
    try:
        parse_speed(str(value))
    except ValueError as error:
        return str(error)
    return None


DATABASE_KEY: Final = Key(
    "kawal.database", STRING, "default", "The database whose vnodes hold the topic; fixed when it is created."
)

DURABILITY_SHOWN: Final = Key(
    "kawal.durability",
    STRING,
    "disk",
    "What acks=all waits for: the durability class of the topic's database.",
)

SQL_KEY: Final = Key(
    "kawal.sql",
    STRING,
    "",
    "Makes the new topic a view, which stores nothing: what follows AS in CREATE TOPIC, as `SELECT … FROM"
    " topic WHERE …`, `STABLE topic WHERE …` or `UNFIT topic`.",
)

COLUMNS_KEY: Final = Key(
    "kawal.columns",
    STRING,
    "",
    "Names and types of the members of the topic's values, JSON objects, for views that select by them:"
    " `ts timestamp, current double, location string tag`.",
    check=_columns_problem,
)

QUARANTINE_KEY: Final = Key(
    "kawal.quarantine",
    STRING,
    "",
    "The view that shows which of the topic's records do not fit kawal.columns, and why; setting it makes the"
    " view, as `CREATE TOPIC name AS UNFIT topic`.",
    check=_topic_problem,
)

ALIAS_KEY: Final = Key(
    "kawal.alias.of",
    STRING,
    "",
    "Makes the new topic another name of a topic, read-only; with bounds or a speed another look at it.",
)

FROM_KEY: Final = Key(
    "kawal.from",
    STRING,
    "",
    "Where a view begins: a time (ISO 8601, or ms since 1970), or `offset 4711`.",
    check=_bound_problem,
)

TO_KEY: Final = Key(
    "kawal.to", STRING, "", "Where a view ends, itself not shown; as kawal.from.", check=_bound_problem
)

SPEED_KEY: Final = Key(
    "kawal.replay.speed",
    STRING,
    "",
    "Shows a view's records as far apart as they were written: 1 is the original pace, 10 ten times as fast.",
    check=_speed_problem,
)

SCHEMA_SHOWN: Final = Key(
    "kawal.schema", STRING, "", "The columns of a view's records, as JSON; they never change."
)

SOURCE_SHOWN: Final = Key("kawal.source", STRING, "", "What a view reads.")

KAWAL_TOPIC_KEYS: Final = {
    key.name: key
    for key in (
        DATABASE_KEY,
        DURABILITY_SHOWN,
        SQL_KEY,
        ALIAS_KEY,
        FROM_KEY,
        TO_KEY,
        SPEED_KEY,
        COLUMNS_KEY,
        QUARANTINE_KEY,
        SCHEMA_SHOWN,
        SOURCE_SHOWN,
    )
}
"""All of them by name."""

SHOWN_ONLY: Final = frozenset({DURABILITY_SHOWN.name, SCHEMA_SHOWN.name, SOURCE_SHOWN.name})
"""What is shown and never set."""

WINDOW_NAMES: Final = (FROM_KEY.name, TO_KEY.name, SPEED_KEY.name)
"""What bounds or paces a view."""

DEFINING_NAMES: Final = frozenset({SQL_KEY.name, ALIAS_KEY.name, *WINDOW_NAMES})
"""What is set for views only."""

FIXED_NAMES: Final = DEFINING_NAMES | SHOWN_ONLY | {DATABASE_KEY.name}
"""What is settled when the topic is created."""
