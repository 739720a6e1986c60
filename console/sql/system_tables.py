"""The tables of information_schema and performance_schema: the server's state as rows.

The first columns are those of TDengine's tables of these names; what only Kawal has follows.  SHOW statements
show the same rows.  A table is read when it is named, with one or two requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from console import database_admin
from console.database_admin import setting_of
from console.errors import UsageError
from console.group_rows import read_groups
from console.silence import check_whole
from console.sql.results import Result
from console.sql.session import Session
from console.sql.sub_tables import read_sub_tables
from protocol.messages.kawal_databases import DatabaseResult
from protocol.messages.kawal_topics import TopicResult
from protocol.messages.list_groups import ListGroupsRequest
from views.columns import Columns, parse_columns
from views.timestamps import format_timestamp

Rows = Iterator[tuple[Any, ...]]
MS_NS: Final = 1_000_000


class SystemTable(NamedTuple):
    """One table: its name, its columns as kawal.columns has them, and the function that reads its rows."""

    name: str
    columns: Columns
    read: Callable[[Session], Rows]


def _time(time_ms: int) -> str | None:
    if not time_ms:
        return None
    return format_timestamp(time_ms, MS_NS)


def _topics(session: Session) -> Rows:
    for topic in session.topics():
        yield (
            topic.name,
            topic.database,
            _time(topic.created_ms),
            topic.statement or None,
            _schema(topic),
            topic.meta or None,
            topic.kind,
            topic.partitions,
            topic.source or None,
            topic.topic_id,
        )


def _schema(topic: TopicResult) -> list[dict[str, str]] | None:
    """Return the columns of a topic's records, None where values stay as they are."""
    if topic.columns:
        return [{"name": column.name, "type": str(column.type)} for column in parse_columns(topic.columns)]
    columns: list[dict[str, str]] | None = json.loads(topic.schema)["columns"] if topic.schema else None
    return columns


def _subscriptions(session: Session) -> Rows:
    rows = read_groups(session.bootstrap)
    check_whole(rows.silent)
    for row in rows.subscriptions:
        yield (
            row["topic"],
            row["group"],
            row["vnode"],
            row["consumer"],
            None,
            row["host"],
            row["offset"],
            row["rows"],
            row["partition"],
            row["log_start"],
            row["end"],
            row["lag"],
            row["lag_seconds"],
        )


def _consumers(session: Session) -> Rows:
    rows = read_groups(session.bootstrap)
    check_whole(rows.silent)
    for row in rows.consumers:
        yield (
            row["consumer"],
            row["group"],
            row["client_id"],
            row["user"] or None,
            row["host"],
            row["status"],
            row["topics"],
            row["up"],
            row["subscribed"],
            row["rebalanced"],
            row["parameters"],
            row["polled"],
            row["idle_seconds"],
        )


def _groups(session: Session) -> Rows:
    request = ListGroupsRequest(states_filter=[], types_filter=[])
    found = [group for answer in session.ask_each(request, 5) for group in answer.groups]
    for group in sorted(found, key=lambda group: group.group_id):
        yield group.group_id, group.group_type, group.group_state, group.protocol_type


def described(session: Session) -> list[DatabaseResult]:
    """Return all databases.  Raises: CommandError."""
    results, silent = database_admin.described(session.bootstrap, None)
    check_whole(silent)
    return results


def _databases(session: Session) -> Rows:
    for database in described(session):
        durability = setting_of(database, "durability")
        retention_ms, retention_bytes = (
            int(setting_of(database, name) or -1) for name in ("wal.retention.ms", "wal.retention.bytes")
        )
        yield (
            database.name,
            _time(database.created_ms),
            database.vnodes,
            database.topic_count,
            1,
            setting_of(database, "precision"),
            1 if durability == "os" else 2,
            int(setting_of(database, "flush.ms") or 0) if durability == "os" else 0,
            retention_ms if retention_ms < 0 else retention_ms // 1000,
            retention_bytes if retention_bytes < 0 else retention_bytes // 1024,
            database.view_count,
            database.size_bytes,
            durability,
            int(setting_of(database, "retention.ms") or -1),
        )


def _vgroups(session: Session) -> Rows:
    for database in described(session):
        for vnode in database.vnode_states:
            yield (
                vnode.name,
                database.name,
                vnode.stream_count,
                vnode.state,
                vnode.first_version,
                vnode.next_version,
                vnode.size_bytes,
            )


def _stables(session: Session) -> Rows:
    for topic in _with_columns(session):
        columns = parse_columns(topic.columns)
        tags = sum(column.is_tag for column in columns)
        yield topic.name, topic.database, _time(topic.created_ms), len(columns.declared) - tags, tags


def _with_columns(session: Session) -> list[TopicResult]:
    return [topic for topic in session.topics() if topic.columns]


def _columns(session: Session) -> Rows:
    for topic in _with_columns(session):
        for column in parse_columns(topic.columns):
            yield topic.name, topic.database, column.name, str(column.type), column.is_tag


def _tables(session: Session) -> Rows:
    for table in read_sub_tables(session):
        yield table.name, table.database, _time(table.created_ms), table.stable


def _tags(session: Session) -> Rows:
    for table in read_sub_tables(session):
        for name, value in table.tags.items():
            text = value if isinstance(value, str) or value is None else json.dumps(value)
            yield table.name, table.database, table.stable, name, text


def _table(name: str, columns: str, read: Callable[[Session], Rows]) -> SystemTable:
    return SystemTable(name, parse_columns(columns), read)


TOPICS: Final = _table(
    "ins_topics",
    "topic_name string, db_name string, create_time string, sql string, schema json, meta string,"
    " type string, partitions int, source string, topic_id string",
    _topics,
)
SUBSCRIPTIONS: Final = _table(
    "ins_subscriptions",
    "topic_name string, consumer_group string, vgroup_id string, consumer_id string, user string,"
    " fqdn string, `offset` bigint, `rows` bigint, partition int, log_start bigint, `end` bigint, lag bigint,"
    " lag_seconds double",
    _subscriptions,
)
CONSUMERS: Final = _table(
    "perf_consumers",
    "consumer_id string, consumer_group string, client_id string, user string, fqdn string, status string,"
    " topics json, up_time string, subscribe_time string, rebalance_time string, parameters string,"
    " poll_time string, idle_seconds double",
    _consumers,
)
GROUPS: Final = _table("ins_groups", "group_id string, type string, state string, protocol string", _groups)
DATABASES: Final = _table(
    "ins_databases",
    "name string, create_time string, vgroups int, ntopics bigint, replica int, `precision` string,"
    " wal_level int, wal_fsync_period bigint, wal_retention_period bigint, wal_retention_size bigint,"
    " nviews bigint, size_bytes bigint, durability string, retention_ms bigint",
    _databases,
)
VGROUPS: Final = _table(
    "ins_vgroups",
    "vgroup_id string, db_name string, streams bigint, status string, first_version bigint,"
    " next_version bigint, size_bytes bigint",
    _vgroups,
)
STABLES: Final = _table(
    "ins_stables", "stable_name string, db_name string, create_time string, `columns` int, tags int", _stables
)
COLUMNS: Final = _table(
    "ins_columns",
    "table_name string, db_name string, col_name string, col_type string, is_tag bool",
    _columns,
)
TABLES: Final = _table(
    "ins_tables", "table_name string, db_name string, create_time string, stable_name string", _tables
)
TAGS: Final = _table(
    "ins_tags",
    "table_name string, db_name string, stable_name string, tag_name string, tag_value string",
    _tags,
)

SYSTEM_TABLES: Final = {
    table.name: table
    for table in (
        TOPICS,
        SUBSCRIPTIONS,
        CONSUMERS,
        GROUPS,
        DATABASES,
        VGROUPS,
        STABLES,
        COLUMNS,
        TABLES,
        TAGS,
    )
}
SCHEMAS: Final = ("information_schema", "performance_schema")


def system_table(name: str) -> SystemTable | None:
    """Return the table of that name, None if it is not in one of the two schemas.

    Raises: UsageError for an unknown table in them.
    """
    schema, _, table = name.lower().partition(".")
    if schema not in SCHEMAS:
        return None
    found = SYSTEM_TABLES.get(table)
    if found is None:
        raise UsageError(f"{schema} has no table {table!r}; there are {', '.join(SYSTEM_TABLES)}")
    return found


def rows_of(table: SystemTable, session: Session, names: Sequence[str] = ()) -> Result:
    """Return the rows of a table, with these columns in this order or with all."""
    every = table.columns.names
    shown = tuple(names) or tuple(every)
    places = [every.index(name) for name in shown]
    return Result(columns=shown, rows=[[row[place] for place in places] for row in table.read(session)])
