"""Sub-tables that were declared by CREATE TABLE … USING or INSERT … USING: names and tags, kept in a topic.

    topic   kawal.tables.DATABASE in that database, one partition, compacted; created with the first sub-table
    key     the name of the sub-table
    value   JSON {"stable": …, "tags": {"name": value}}; null: the table was dropped

To Kawal a sub-table is a key of its supertable's topic, and nothing needs its declaration but INSERT INTO a
sub-table by its name alone.  As the topic lies in the database, views over the database show declarations,
changes of tags and drops in the order in which they were made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from console.sql.records import produce, read_all
from console.sql.session import Session
from console.sql.topic_requests import TOPIC_EXISTS, checked, create_topic, delete_topic
from protocol.record_reader import Record

TABLES_TOPIC: Final = "kawal.tables."
DEFAULT: Final = "default"


class SubTable(NamedTuple):
    """A declared sub-table; tags that are NULL are there, too."""

    name: str
    database: str
    stable: str
    tags: dict[str, Any]
    created_ms: int


def read_sub_tables(session: Session, database: str | None = None) -> list[SubTable]:
    """Return the declared sub-tables of a database, or of all, by database and name."""
    if database is None:
        topics = [topic.name for topic in session.topics() if topic.name.startswith(TABLES_TOPIC)]
    else:
        topics = [TABLES_TOPIC + database] if session.find_topic(TABLES_TOPIC + database) else []
    return [table for topic in sorted(topics) for table in _declared(session, topic)]


def _declared(session: Session, topic: str) -> list[SubTable]:
    database = topic.removeprefix(TABLES_TOPIC)
    found: dict[str, SubTable] = {}
    for record in read_all(session, topic):
        name = (record.key or b"").decode()
        if record.value is None:
            found.pop(name, None)
            continue
        told = json.loads(record.value)
        before = found.get(name)
        created_ms = before.created_ms if before is not None else record.timestamp_ms
        found[name] = SubTable(name, database, told["stable"], told["tags"], created_ms)
    return [found[name] for name in sorted(found)]


def find_sub_table(session: Session, name: str) -> SubTable | None:
    """Return the sub-table `name` or `database.name`, of the database of USE first; None if there is none."""
    every = read_sub_tables(session)
    chosen = [table for table in every if table.name == name]
    chosen = [table for table in chosen if table.database == session.database] or chosen
    return next(iter(chosen or [table for table in every if f"{table.database}.{table.name}" == name]), None)


def declare(session: Session, tables: Sequence[SubTable], now_ms: int) -> None:
    """Keep the declarations of sub-tables.  Raises: CommandError."""
    values = [{"stable": table.stable, "tags": table.tags} for table in tables]
    data = [json.dumps(value, ensure_ascii=False).encode() for value in values]
    _write(session, list(zip(tables, data, strict=True)), now_ms)


def forget(session: Session, tables: Sequence[SubTable], now_ms: int) -> None:
    """Remove the declarations of sub-tables; their rows stay.  Raises: CommandError."""
    _write(session, [(table, None) for table in tables], now_ms)


def drop_declarations(session: Session, database: str) -> None:
    """Delete the topic of declarations if nothing else is left in the database.  Raises: CommandError."""
    topic = TABLES_TOPIC + database
    if [found.name for found in session.topics() if found.database == database] == [topic]:
        checked(delete_topic(session, topic), topic)


def _write(session: Session, values: Sequence[tuple[SubTable, bytes | None]], now_ms: int) -> None:
    for database in sorted({table.database for table, _ in values}):
        topic = TABLES_TOPIC + database
        if session.find_topic(topic) is None:
            place = {"kawal.database": database} if database != DEFAULT else {}
            answer = create_topic(session, topic, {"cleanup.policy": "compact", **place}, partitions=1)
            if answer.error_code != TOPIC_EXISTS:
                checked(answer, topic)
        mine = [
            Record(0, now_ms, table.name.encode(), value)
            for table, value in values
            if table.database == database
        ]
        produce(session, topic, 1, mine)
