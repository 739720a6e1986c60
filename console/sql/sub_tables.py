"""Sub-tables that were declared by CREATE TABLE … USING or INSERT … USING: names and tags, kept in a topic.

    topic   kawal.tables, one partition, compacted; created when the first sub-table is
    key     JSON ["database", "table"]
    value   JSON {"stable": …, "tags": {"name": value}}; null: the table was dropped

To Kawal a sub-table is a key of its supertable's topic, and nothing needs its declaration but INSERT INTO a
sub-table by its name alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from console.sql.records import produce, read_all
from console.sql.session import Session
from console.sql.topic_requests import TOPIC_EXISTS, checked, create_topic
from protocol.record_reader import Record

TABLES_TOPIC: Final = "kawal.tables"


class SubTable(NamedTuple):
    """A declared sub-table; tags that are NULL are there, too."""

    name: str
    database: str
    stable: str
    tags: dict[str, Any]
    created_ms: int


def read_sub_tables(session: Session) -> list[SubTable]:
    """Return the declared sub-tables, by database and name."""
    if session.find_topic(TABLES_TOPIC) is None:
        return []
    found: dict[tuple[str, str], SubTable] = {}
    for record in read_all(session, TABLES_TOPIC):
        database, name = json.loads(record.key or b'["", ""]')
        if record.value is None:
            found.pop((database, name), None)
            continue
        told = json.loads(record.value)
        before = found.get((database, name))
        created_ms = before.created_ms if before is not None else record.timestamp_ms
        found[database, name] = SubTable(name, database, told["stable"], told["tags"], created_ms)
    return [found[key] for key in sorted(found)]


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


def _write(session: Session, values: Sequence[tuple[SubTable, bytes | None]], now_ms: int) -> None:
    if not values:
        return
    if session.find_topic(TABLES_TOPIC) is None:
        answer = create_topic(session, TABLES_TOPIC, {"cleanup.policy": "compact"}, partitions=1)
        if answer.error_code != TOPIC_EXISTS:
            checked(answer, TABLES_TOPIC)
    records = [
        Record(0, now_ms, json.dumps([table.database, table.name], ensure_ascii=False).encode(), value)
        for table, value in values
    ]
    produce(session, TABLES_TOPIC, 1, records)
