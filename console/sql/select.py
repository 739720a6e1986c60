"""SELECT from the tables of information_schema, and from topics: evaluated here, by the rules of views.

    SELECT columns FROM table [WHERE condition] [ORDER BY column [ASC | DESC], …] [LIMIT count]
    SELECT COUNT(*) FROM table [WHERE condition]

Of a topic, its records are read once, from the first to the present end, as a view of it would show them;
without ORDER BY only as many as LIMIT wants.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

from console.errors import CommandError, UsageError
from console.sql.records import read_batches
from console.sql.results import Result
from console.sql.session import Session
from console.sql.system_tables import SystemTable, system_table
from protocol.messages.kawal_topics import TopicResult
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from views.columns import Columns, parse_columns
from views.dialect import near, tokenize
from views.errors import ViewError
from views.evaluator import Evaluator, build_evaluator
from views.filtering import filter_batch
from views.plan import Plan, plan_view
from views.statement import Statement, parse_view
from views.tags import TagTable
from views.token_text import depth_zero, position_of

LIMIT_DIGITS_MAX: Final = 18
ROWS_PER_BATCH: Final = 500


class Ending(NamedTuple):
    """The clauses after WHERE, which no view has."""

    order: list[tuple[str, bool]]
    """Columns to sort by, and whether downwards."""
    limit: int | None


def select(session: Session, text: str) -> Result:
    """Run the statement.  Raises: CommandError, UsageError."""
    try:
        query, ending, counts = _cut(text)
        statement = parse_view(query)
        table = system_table(statement.source)
        if table is None:
            topic = session.topic(statement.source)
            found = _from_topic(session, topic, statement)
        else:
            found = _from_table(session, table, statement)
    except ViewError as error:
        raise UsageError(str(error)) from error
    if counts:
        return Result(columns=("count(*)",), rows=[(sum(1 for _ in found.rows),)])
    return _ended(found, ending)


class Found(NamedTuple):
    """The columns of a result, and its rows as they are found."""

    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]


def _from_table(session: Session, table: SystemTable, statement: Statement) -> Found:
    plan = plan_view(statement, table.columns)
    names = table.columns.names
    values = (dict(zip(names, row, strict=True)) for row in table.read(session))
    columns = _columns(plan, table.columns)
    return Found(columns, (_row(columns, value) for value in _evaluated(plan, values)))


def _columns(plan: Plan, declared: Columns) -> tuple[str, ...]:
    if plan.output is None:
        return tuple(declared.names)
    return tuple(column.name for column in plan.output)


def _row(columns: Sequence[str], value: dict[str, Any]) -> list[Any]:
    return [value.get(name) for name in columns]


def _evaluated(plan: Plan, values: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the objects that a plan makes of these, a batch of records at a time."""
    evaluator, every = build_evaluator(plan), iter(values)
    while chosen := list(islice(every, ROWS_PER_BATCH)):
        records = [
            Record(offset, 0, None, json.dumps(value, ensure_ascii=False).encode())
            for offset, value in enumerate(chosen)
        ]
        yield from (json.loads(record.value or b"{}") for record in _shown(evaluator, encode_batch(records)))


def _shown(
    evaluator: Evaluator, batch: Any, tags: TagTable | None = None, partition: int = 0
) -> list[Record]:
    made = filter_batch(evaluator, memoryview(batch), tags=tags, partition=partition).batch
    return [] if made is None else list(iter_records(made))


def _from_topic(session: Session, topic: TopicResult, statement: Statement) -> Found:
    if topic.kind != "log":
        raise CommandError(
            f"{topic.name!r} is a view; select from {topic.source!r}, or read it with"
            f" 'kawal consume {topic.name}'"
        )
    if topic.value_format == "registry":
        raise CommandError(
            f"the values of {topic.name!r} are framed for a schema registry, which the server reads: make a"
            " view (CREATE TOPIC name AS SELECT …) and read that"
        )
    plan = plan_view(statement, parse_columns(topic.columns) if topic.columns else None)
    records = chain.from_iterable(
        _partition(session, topic.name, index, build_evaluator(plan)) for index in range(topic.partitions)
    )
    if plan.output is None:
        return Found(
            ("partition", "offset", "timestamp", "key", "value"),
            (
                (index, record.offset, record.timestamp_ms, _text(record.key), _text(record.value))
                for index, record in records
            ),
        )
    columns = tuple(column.name for column in plan.output)
    return Found(columns, (_row(columns, json.loads(record.value or b"{}")) for _, record in records))


def _partition(
    session: Session, topic: str, index: int, evaluator: Evaluator
) -> Iterator[tuple[int, Record]]:
    tags = TagTable()
    for batch in read_batches(session, topic, index):
        for record in _shown(evaluator, batch, tags, index):
            yield index, record


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")


# --- the clauses that views do not have ---------------------------------------------------------------------


def _cut(text: str) -> tuple[str, Ending, bool]:
    """Return the statement without its ending, the ending, and whether it counts rows.

    Raises: UsageError, ViewError.
    """
    read = tokenize(text)
    start = next(
        (at for at in depth_zero(read) if _word(read, at) in ("ORDER", "ORDER BY", "LIMIT")), len(read)
    )
    ending = _ending(read[start:])
    end = read[start - 1].end + 1
    counts = [token.text.upper() for token in read[1:5]] == ["COUNT", "(", "*", ")"]
    if not counts:
        return text[:end], ending, False
    source = position_of(read, TokenType.FROM)
    if source != 5:
        raise UsageError("COUNT(*) stands alone, as in SELECT COUNT(*) FROM information_schema.ins_topics")
    return f"SELECT * {text[read[source].start : end]}", ending, True


def _word(read: Sequence[Token], at: int) -> str:
    if at >= len(read) or read[at].token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return ""
    return " ".join(read[at].text.upper().split())


def _ending(read: Sequence[Token]) -> Ending:
    order: list[tuple[str, bool]] = []
    at, limit = 0, None
    if _word(read, at).startswith("ORDER"):
        at += 1 if _word(read, at) == "ORDER BY" else 2
        while at < len(read) and _word(read, at) != "LIMIT":
            name, at = read[at].text, at + 1
            downwards = _word(read, at) == "DESC"
            at += _word(read, at) in ("ASC", "DESC")
            order.append((name, downwards))
            if at < len(read) and _word(read, at) not in (",", "LIMIT"):
                raise UsageError(f"ORDER BY takes columns of the result, found {near(read[at])}")
            at += _word(read, at) == ","
    if at < len(read):
        number = read[at + 1].text if at + 2 == len(read) else ""
        if not number.isdecimal() or len(number) > LIMIT_DIGITS_MAX:
            raise UsageError("LIMIT takes a number, as in LIMIT 10, and ends the statement")
        limit = int(number)
    return Ending(order, limit)


def _ended(found: Found, ending: Ending) -> Result:
    """Return the rows in their order, as many as are wanted.  Raises: UsageError."""
    if not ending.order:
        return Result(columns=found.columns, rows=list(islice(found.rows, ending.limit)))
    rows = list(found.rows)
    for name, downwards in reversed(ending.order):
        place = _place(found.columns, name)
        rows.sort(key=lambda row, place=place: _sortable(row[place]), reverse=downwards)  # type: ignore[misc]
    return Result(columns=found.columns, rows=rows[: ending.limit])


def _place(columns: Sequence[str], name: str) -> int:
    for place, column in enumerate(columns):
        if column.lower() == name.lower():
            return place
    raise UsageError(f"ORDER BY {name}: the result has the columns {', '.join(columns)}")


def _sortable(value: Any) -> tuple[int, Any]:
    """Return the key of a value: NULL comes first, and then what can be compared with each other."""
    if value is None:
        return 0, 0
    if isinstance(value, int | float):
        return 1, value
    return 2, value if isinstance(value, str) else json.dumps(value)
