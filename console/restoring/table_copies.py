"""The sub-tables of a restored database that records declare: `kawal.tables.declare=auto`.

Most come along with their records.  Tags that a record does not carry itself, as they were set by records
that have expired, or in another partition before the topic grew, are written into the headers of its copy,
after `kawal.origin`.  At the end, the tables that views ONLY META tell of are compared: the same names, in
the same partitions, with the same tags.

Compacted topics are left out of the comparison, as their records are not read through the view.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, NamedTuple

from broker.view_topics.declared_tables import TABLE_HEADER
from console.errors import CommandError
from console.sql.records import read_view_batches
from console.sql.session import Session
from console.sql.topic_requests import checked, create_topic, delete_topic
from protocol.record_reader import Headers, Record, iter_records
from views.column_types import STRING, Kind
from views.columns import Column, parse_columns
from views.runtime_casts import cast_function
from views.tags import HEADER_PREFIX

Tables = dict[tuple[str, int, str], Any]
"""Tags by topic, partition and name."""

CREATE, ALTER, DROP = "create table", "alter table", "drop table"
KINDS: Final = frozenset({CREATE, ALTER, DROP})


class Shown(NamedTuple):
    """A record of a view, as its topic has it, and what it tells of its sub-table."""

    record: Record
    told: dict[str, Any] | None


def as_stored(record: Record, places: Collection[str]) -> Shown:
    """Return a record without the headers of the view, which come after its own: places, and its table."""
    headers = record.headers
    value: bytes | None = None
    if headers and headers[-1][0] == TABLE_HEADER:
        value, headers = headers[-1][1], headers[:-1]
    stored = record._replace(headers=headers[: -len(places)])
    return Shown(stored, None if value is None else json.loads(value))


def missing_tags(shown: Shown, columns: str) -> Headers:
    """Return the headers with tags of a new or altered table that its record does not carry itself."""
    told = shown.told
    if told is None or told.get("type") not in (CREATE, ALTER) or not told["tags"]:
        return ()
    carried = _carried(shown.record)
    return tuple(
        (HEADER_PREFIX + column.name, _text(column, value).encode())
        for column in parse_columns(columns)
        if column.is_tag and column.name not in carried and (value := told["tags"][column.name]) is not None
    )


def _carried(record: Record) -> set[str]:
    """Return the names of the tags that a record carries; it fits, so its value is a JSON object."""
    heads = {name.removeprefix(HEADER_PREFIX) for name, _ in record.headers if name.startswith(HEADER_PREFIX)}
    members: dict[str, Any] = json.loads(record.value or b"{}")
    return heads | {name for name, value in members.items() if value is not None}


def _text(column: Column, value: Any) -> str:
    """Return the text of a header from which the tag is read back."""
    if column.type.kind is Kind.JSON:
        return json.dumps(value)
    cast: Callable[[Any], Any] | None = cast_function(column.type, STRING)
    return str(value if cast is None else cast(value))


# --- the comparison ----------------------------------------------------------------------------------------


def check_tables(
    here: tuple[Session, str, list[int]],
    there: tuple[Session, str],
    name: str,
    topics: Collection[str],
    name_of: Callable[[str], str],
) -> int:
    """Compare the sub-tables of topics with those of their copies; return their number.

    `here`, `there`: sessions and databases, and up to which versions the first was read; `name`: of the views
    that are made for it.
    Raises: CommandError.
    """
    if not topics:
        return 0
    session, database, ends = here
    wanted = {
        (name_of(topic), partition, table): tags
        for (topic, partition, table), tags in _tables(session, database, name, ends).items()
        if topic in topics
    }
    copies = {name_of(topic) for topic in topics}
    found = {key: tags for key, tags in _tables(*there, name, None).items() if key[0] in copies}
    for key in sorted(wanted.keys() | found.keys()):
        if key not in wanted or key not in found or wanted[key] != found[key]:
            topic, partition, table = key
            raise CommandError(
                f"the sub-table {table!r} of {topic}-{partition} is {_state(wanted, key)} in the database,"
                f" and {_state(found, key)} in its copy: records were deleted or expired meanwhile, or others"
                " were written to the copy"
            )
    return len(wanted)


def _state(tables: Tables, key: tuple[str, int, str]) -> str:
    return f"tagged {json.dumps(tables[key])}" if key in tables else "not there"


def _tables(session: Session, database: str, name: str, ends: list[int] | None) -> Tables:
    """Return the sub-tables that a view ONLY META of a database tells of, up to these versions."""
    made = create_topic(session, name, {"kawal.sql": f"DATABASE `{database}` ONLY META"})
    checked(made, name)
    try:
        (view,) = session.topics([name])
        tables: Tables = {}
        for vnode in range(view.partitions):
            batches = read_view_batches(session, name, vnode)
            end = None if ends is None else ends[vnode]
            _replay(tables, (record for batch in batches for record in iter_records(batch)), end)
        return tables
    finally:
        delete_topic(session, name)


def _replay(tables: Tables, changes: Iterable[Record], end: int | None) -> None:
    for change in changes:
        if end is not None and change.offset >= end:
            return
        told = json.loads(change.value or b"{}")
        if told["type"] not in KINDS:
            continue
        key = told["topic"], told["partition"], told["table"]
        if told["type"] == DROP:
            tables.pop(key, None)
        else:
            tables[key] = told["tags"]
