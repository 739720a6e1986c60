"""Statements about supertables, tables and sub-tables, which are topics with columns, and keys in them.

    CREATE STABLE [IF NOT EXISTS] name (column type, …) TAGS (tag type, …)     a topic with kawal.columns
    CREATE TABLE  [IF NOT EXISTS] name (column type, …)                        a topic with one key, its name
    CREATE TABLE  [IF NOT EXISTS] name USING stable [(tag, …)] TAGS (value, …) [name USING …]   sub-tables
    ALTER STABLE | TABLE name ADD COLUMN | TAG name type,  DROP COLUMN | TAG name
    ALTER TABLE name SET TAG tag = value                                       of a declared sub-table
    DROP STABLE | TABLE [IF EXISTS] name
    SHOW STABLES      SHOW TABLES

A supertable has as many partitions as its database has vnodes; timestamps have the precision of the database.
"""

from __future__ import annotations

import re
from typing import Final

from console.config_admin import SET, alter, find_resource
from console.database_admin import do, found, setting_of
from console.errors import CommandError, UsageError
from console.sql.grammar import Form, Parts, form, name, plain_name
from console.sql.results import Result
from console.sql.session import UNKNOWN_TOPIC, Session
from console.sql.sub_tables import declare, find_sub_table, forget, read_sub_tables
from console.sql.system_tables import STABLES, TABLES, rows_of
from console.sql.topic_requests import TOPIC_EXISTS, checked, create_topic, delete_topic
from protocol.messages.incremental_alter_configs import AlterableConfig
from protocol.messages.kawal_databases import DatabaseAction
from views.column_types import Kind, timestamp_type
from views.columns import Column, Columns, parse_columns
from views.errors import ColumnsProblem

DEFAULT: Final = "default"
COLUMNS: Final = "kawal.columns"
_PRIMARY: Final = re.compile(r"\s+PRIMARY\s+KEY\b", re.IGNORECASE)


def _create(session: Session, parts: Parts) -> Result:
    stable = plain_name(parts["name"])
    database, _, plain = stable.rpartition(".")
    database = database or session.database or DEFAULT
    described = found(do(session.bootstrap, DatabaseAction.DESCRIBE, [database]))[0]
    columns = _columns(parts["columns"] or "", parts["tags"], setting_of(described, "precision") or "ms")
    configs = {COLUMNS: str(columns)} | ({"kawal.database": database} if database != DEFAULT else {})
    answer = create_topic(session, plain, configs, partitions=described.vnodes)
    if answer.error_code == TOPIC_EXISTS:
        there = session.topic(plain)
        if parts["lenient"] and (there.columns, there.database) == (str(columns), database):
            return Result(f"{plain} exists already")
        if parts["lenient"]:
            raise CommandError(
                f"topic {plain!r} exists in database {there.database!r} with other columns:"
                f" {there.columns or 'none'}"
            )
    checked(answer, plain)
    return Result(f"created {plain}")


def _columns(columns: str, tags: str | None, precision: str) -> Columns:
    """Return the columns and tags, timestamps in the database's unit.  Raises: UsageError."""
    try:
        declared = list(parse_columns(_PRIMARY.sub("", columns)))
        if tags is not None:
            declared += [Column(tag.name, tag.type, True) for tag in parse_columns(tags)]
        unit = timestamp_type(precision)
        declared = [
            Column(column.name, unit, column.is_tag) if _is_plain_timestamp(column) else column
            for column in declared
        ]
        return parse_columns(str(Columns(tuple(declared))))
    except ColumnsProblem as error:
        raise UsageError(str(error).replace("kawal.columns", "the list of columns")) from error


def _is_plain_timestamp(column: Column) -> bool:
    """Return whether a column is a timestamp; one with a unit of its own is read as milliseconds only."""
    return column.type.kind is Kind.TIMESTAMP and column.type.unit == "ms"


def _create_sub_tables(session: Session, parts: Parts) -> Result:
    from console.sql.insert import Reader, declared

    reader = Reader(parts["rest"] or "")
    created, known = [], []
    new = []
    while not reader.is_over:
        written = reader.name()
        reader.expect("USING")
        table, _, _ = declared(session, reader, written, session.now_ms())
        before = find_sub_table(session, f"{table.database}.{table.name}")
        if before is None:
            new.append(table)
            created.append(table.name)
        elif parts["lenient"]:
            known.append(table.name)
        else:
            raise CommandError(f"table {table.name!r} exists already, one of {before.stable!r}")
    declare(session, new, session.now_ms())
    said = [f"created {', '.join(created)}"] if created else []
    return Result("; ".join([*said, *(f"{table_name} exists already" for table_name in known)]))


def _alter(session: Session, parts: Parts) -> Result:
    topic = session.topic(plain_name(parts["name"]))
    columns = list(parse_columns(topic.columns)) if topic.columns else []
    is_tag = (parts["kind"] or "").upper() == "TAG"
    if (parts["verb"] or "").upper() == "ADD":
        try:
            (added,) = parse_columns(parts["what"] or "")
        except (ColumnsProblem, ValueError) as error:
            raise UsageError(f"{parts['what']!r} is not a name and a type: {error}") from error
        columns.append(Column(added.name, added.type, is_tag))
    else:
        gone = Columns(tuple(columns)).find(plain_name(parts["what"]))
        if gone is None or gone.is_tag is not is_tag:
            raise CommandError(f"{topic.name!r} has no {'tag' if is_tag else 'column'} {parts['what']!r}")
        columns.remove(gone)
    change = AlterableConfig(name=COLUMNS, config_operation=SET, value=str(Columns(tuple(columns))))
    alter(find_resource(session.bootstrap, "topic", topic.name), [change], dry_run=False)
    return Result(f"altered {topic.name}")


def _set_tag(session: Session, parts: Parts) -> Result:
    from console.sql.insert import Reader
    from console.sql.values import value_of

    table = find_sub_table(session, plain_name(parts["name"]))
    if table is None:
        raise CommandError(f"there is no sub-table {parts['name']!r}")
    columns = parse_columns(session.topic(table.stable).columns)
    tag = columns.find(plain_name(parts["tag"]))
    if tag is None or not tag.is_tag:
        raise UsageError(f"{table.stable!r} has no tag {parts['tag']!r}")
    value = value_of(Reader(parts["value"] or "").read, tag, session.now_ms())
    declare(session, [table._replace(tags={**table.tags, tag.name: value})], session.now_ms())
    return Result(f"altered {table.name}")


def _drop(session: Session, parts: Parts) -> Result:
    written = plain_name(parts["name"])
    topic = session.find_topic(written)
    if topic is not None:
        if not topic.columns:
            raise CommandError(f"topic {topic.name!r} declares no columns; it is dropped by DROP TOPIC")
        answer = delete_topic(session, topic.name)
        if answer.error_code != UNKNOWN_TOPIC:
            checked(answer, topic.name)
        mine = [table for table in read_sub_tables(session, topic.database) if table.stable == topic.name]
        forget(session, mine, session.now_ms())
        return Result(f"dropped {topic.name}")
    table = find_sub_table(session, written)
    if table is not None:
        forget(session, [table], session.now_ms())
        return Result(f"dropped {table.name}; its rows in {table.stable} stay until retention deletes them")
    if parts["lenient"]:
        return Result(f"{written} does not exist")
    raise CommandError(f"there is no table {written!r}")


def _show_stables(session: Session, _: Parts) -> Result:
    return rows_of(STABLES, session)


def _show_tables(session: Session, _: Parts) -> Result:
    return rows_of(TABLES, session)


_LISTED: Final = r"\((?P<columns>.*?)\)(?:\s*TAGS\s*\((?P<tags>.*)\))?"

FORMS: Final[tuple[Form, ...]] = (
    form(
        "CREATE TABLE",
        rf"CREATE TABLE (?P<lenient>IF NOT EXISTS )?(?P<rest>{name()} USING .*)",
        _create_sub_tables,
        "CREATE TABLE d1001 USING meters TAGS ('California.SanFrancisco', 2)",
    ),
    form(
        "CREATE STABLE",
        rf"CREATE S?TABLE (?P<lenient>IF NOT EXISTS )?{name()}\s*{_LISTED}",
        _create,
        "CREATE STABLE meters (ts timestamp, current float) TAGS (location binary(64), groupid int)",
    ),
    form(
        "ALTER TABLE",
        rf"ALTER TABLE {name()} SET TAG {name('tag')}\s*=\s*(?P<value>.+?)",
        _set_tag,
        "ALTER TABLE d1001 SET TAG location = 'California.LosAngeles'",
    ),
    form(
        "ALTER STABLE",
        rf"ALTER S?TABLE {name()} (?P<verb>ADD|DROP) (?P<kind>COLUMN|TAG) (?P<what>.+?)",
        _alter,
        "ALTER STABLE meters ADD COLUMN power float",
    ),
    form(
        "DROP TABLE", rf"DROP S?TABLE (?P<lenient>IF EXISTS )?{name()}", _drop, "DROP TABLE IF EXISTS d1001"
    ),
    form("SHOW STABLES", "SHOW STABLES", _show_stables, "SHOW STABLES"),
    form("SHOW TABLES", "SHOW TABLES", _show_tables, "SHOW TABLES"),
)
