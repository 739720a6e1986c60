"""INSERT: rows written as records to the topic of their supertable or table.

    INSERT INTO target …
    target := sub-table [USING stable [(tag, …)] TAGS (value, …)] [(column, …)] rows
            | stable (tbname, column, …) rows
            | table [(column, …)] rows
    rows   := VALUES (value, …) [[,] (value, …)] … | FILE 'path.csv'

A row becomes a JSON object in a record whose key is the name of its sub-table or table, and whose timestamp
is the value of the first column if that is a timestamp.  Tags are in headers of a statement's first row of
each sub-table, so that views know them from there on.  Everything is read and checked before anything is
written.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from console.errors import CommandError, UsageError
from console.sql.grammar import plain_name
from console.sql.records import produce
from console.sql.results import Result
from console.sql.session import Session
from console.sql.sub_tables import SubTable, declare, find_sub_table, read_sub_tables
from console.sql.values import cell_of, value_of
from protocol.messages.kawal_topics import TopicResult
from protocol.record_reader import Headers, Record
from views.column_types import Kind
from views.columns import Column, Columns, parse_columns
from views.dialect import DIALECT, near
from views.tags import HEADER_PREFIX
from views.timestamps import format_timestamp
from views.token_text import cut_at_commas

TBNAME: Final = "tbname"
MS_NS: Final = 1_000_000


class Reader:
    """A reader of the tokens of a statement."""

    def __init__(self, text: str) -> None:
        """Cut the text into tokens.  Raises: UsageError."""
        self.text = text
        try:
            self.read: list[Token] = DIALECT.tokenize(text)
        except SqlglotError as error:
            raise UsageError(f"the statement cannot be read: {str(error).splitlines()[0][:200]}") from None
        self.at = 0

    @property
    def is_over(self) -> bool:
        """Whether all tokens have been read."""
        return self.at == len(self.read)

    def word(self) -> str:
        """Return the next word in upper case; "" for anything else and at the end."""
        if self.is_over or self.read[self.at].token_type in (TokenType.IDENTIFIER, TokenType.STRING):
            return ""
        return self.read[self.at].text.upper()

    def take(self, *words: str) -> bool:
        """Move past these words if they are next."""
        start = self.at
        for word in words:
            if self.word() != word:
                self.at = start
                return False
            self.at += 1
        return True

    def expect(self, *words: str) -> None:
        """Move past these words.  Raises: UsageError."""
        if not self.take(*words):
            here = "the end of the statement" if self.is_over else near(self.read[self.at])
            raise UsageError(f"expected {' '.join(words)}, found {here}")

    def name(self) -> str:
        """Read a name, which reaches up to a word of the grammar or a bracket.  Raises: UsageError."""
        start = self.at
        while not self.is_over and self.word() not in ("(", "USING", "VALUES", "FILE", "TAGS", "SET"):
            token = self.read[self.at]
            if self.at > start and token.start != self.read[self.at - 1].end + 1:
                break
            self.at += 1
        if self.at == start:
            self.expect("a name")
        return plain_name(self.text[self.read[start].start : self.read[self.at - 1].end + 1])

    def string(self) -> str:
        """Read a text in quotes.  Raises: UsageError."""
        if self.is_over or self.read[self.at].token_type is not TokenType.STRING:
            self.expect("a text in quotes")
        self.at += 1
        return self.read[self.at - 1].text

    def listed(self) -> list[Sequence[Token]]:
        """Read `( … , … )` and return the tokens between the commas.  Raises: UsageError."""
        self.expect("(")
        start, depth = self.at, 1
        while depth:
            if self.is_over:
                raise UsageError(f"the bracket before {near(self.read[start - 1])} is not closed")
            depth += {"(": 1, ")": -1}.get(self.word(), 0)
            self.at += 1
        return cut_at_commas(self.read[start : self.at - 1])

    def names(self) -> list[str]:
        """Read `(name, name)`.  Raises: UsageError."""
        return ["".join(token.text for token in part) for part in self.listed()]


@dataclass(slots=True)
class Target:
    """The rows for one topic: of one table, or of those that `tbname` names."""

    topic: TopicResult
    columns: Columns
    table: SubTable | None = None
    new: dict[str, SubTable] = field(default_factory=dict)
    """Sub-tables that the statement declares if they are not declared yet, by name."""
    records: list[Record] = field(default_factory=list)
    told: dict[str, Headers] = field(default_factory=dict)
    """The tags of sub-tables that a record before carries in its headers."""
    tables: set[str] = field(default_factory=set)


def insert(session: Session, text: str, now_ms: int) -> Result:
    """Run the statement.  Raises: CommandError, UsageError; then nothing, or what it says, was written."""
    reader = Reader(text)
    reader.expect("INSERT", "INTO")
    targets = [_target(session, reader, now_ms)]
    while not reader.is_over:
        targets.append(_target(session, reader, now_ms))
    rows = 0
    for target in targets:
        _declare_new(session, target, now_ms)
        rows += produce(session, target.topic.name, target.topic.partitions, target.records)
    tables = sorted(set().union(*(target.tables for target in targets)))
    into = tables[0] if len(tables) == 1 else f"{len(tables)} tables"
    return Result(f"inserted {rows} row{'' if rows == 1 else 's'} into {into}")


def _declare_new(session: Session, target: Target, now_ms: int) -> None:
    """Declare the sub-tables that are new; what was declared before keeps its tags."""
    if target.table is None:
        known = {table.name for table in read_sub_tables(session, target.topic.database)}
        target.new = {name: table for name, table in target.new.items() if name not in known}
    declare(session, list(target.new.values()), now_ms)


def _target(session: Session, reader: Reader, now_ms: int) -> Target:
    name = reader.name()
    target = _using(session, reader, name, now_ms) if reader.take("USING") else _known(session, name)
    names = reader.names() if reader.word() == "(" else None
    chosen = _chosen(target, names)
    if reader.take("FILE"):
        rows = _file_rows(reader.string(), chosen)
    else:
        reader.expect("VALUES")
        rows = _rows(reader, chosen, now_ms)
    for row in rows:
        target.records.append(_record(target, row, now_ms))
    return target


def _with_columns(topic: TopicResult) -> Columns:
    if topic.kind != "log":
        raise CommandError(f"{topic.name!r} is a view over {topic.source!r} and read-only")
    if topic.value_format == "registry":
        raise CommandError(
            f"the values of {topic.name!r} are framed for a schema registry; write them with its serialisers"
        )
    if not topic.columns:
        raise CommandError(
            f"topic {topic.name!r} declares no columns; set kawal.columns on it, or create it with CREATE"
            " STABLE"
        )
    return parse_columns(topic.columns)


def _known(session: Session, name: str) -> Target:
    """Return the supertable, table or declared sub-table of this name.  Raises: CommandError."""
    topic = session.find_topic(name)
    if topic is not None:
        columns = _with_columns(topic)
        if any(column.is_tag for column in columns):
            return Target(topic, columns)
        return Target(topic, columns, SubTable(topic.name, topic.database, topic.name, {}, 0))
    table = find_sub_table(session, name)
    if table is None:
        raise CommandError(
            f"there is no table {name!r}; create it, or name its supertable: {name} USING stable TAGS (…)"
        )
    topic = session.topic(table.stable)
    return Target(topic, _with_columns(topic), table)


def _using(session: Session, reader: Reader, name: str, now_ms: int) -> Target:
    """Return the sub-table that USING names, declared before or by this statement."""
    table, columns, topic = declared(session, reader, name, now_ms)
    before = find_sub_table(session, f"{table.database}.{table.name}")
    if before is None:
        return Target(topic, columns, table, {table.name: table})
    if before.stable != table.stable:
        raise CommandError(f"table {name!r} is one of {before.stable!r}, not of {table.stable!r}")
    return Target(topic, columns, before)


def declared(
    session: Session, reader: Reader, name: str, now_ms: int
) -> tuple[SubTable, Columns, TopicResult]:
    """Read `stable [(tag, …)] TAGS (value, …)` after USING.  Raises: CommandError, UsageError."""
    topic = session.topic(reader.name())
    columns = _with_columns(topic)
    tags = [column for column in columns if column.is_tag]
    if reader.word() == "(":
        tags = [_column(columns, written, is_tag=True) for written in reader.names()]
    reader.expect("TAGS")
    values = reader.listed()
    if len(values) != len(tags):
        raise UsageError(f"{len(tags)} tags are named, but TAGS has {len(values)} values")
    given = {tag.name: value_of(value, tag, now_ms) for tag, value in zip(tags, values, strict=True)}
    plain = name.removeprefix(f"{topic.database}.")
    return SubTable(plain, topic.database, topic.name, given, now_ms), columns, topic


def _column(columns: Columns, name: str, *, is_tag: bool | None = None) -> Column:
    found = columns.find(name)
    if found is None or (is_tag is not None and found.is_tag is not is_tag):
        what = "tag" if is_tag else "column"
        known = ", ".join(column.name for column in columns if is_tag is None or column.is_tag is is_tag)
        raise UsageError(f"there is no {what} {name!r}; there are {known}")
    return found


def _chosen(target: Target, names: list[str] | None) -> list[Column | None]:
    """Return the columns that values are given for; None stands for the name of the sub-table."""
    columns = target.columns
    if target.table is not None:
        if names is None:
            return [column for column in columns if not column.is_tag]
        return [_column(columns, written, is_tag=False) for written in names]
    if names is None or TBNAME not in (written.lower() for written in names):
        raise UsageError(
            f"{target.topic.name!r} is a supertable: name the columns, tbname among them, as in"
            f" {target.topic.name} (tbname, {columns.names[0]}, …)"
        )
    return [None if written.lower() == TBNAME else _column(columns, written) for written in names]


Row = list[tuple[Column | None, Any]]
"""The values of a row by their columns; None for the name of the sub-table."""

_NAME: Final = Column(TBNAME, parse_columns("name string").declared[0].type)


def _rows(reader: Reader, chosen: list[Column | None], now_ms: int) -> Iterator[Row]:
    number = 0
    while reader.word() == "(":
        number += 1
        values = reader.listed()
        _check_count(len(values), len(chosen), f"row {number}")
        try:
            row: Row = [
                (column, value_of(value, column or _NAME, now_ms))
                for column, value in zip(chosen, values, strict=True)
            ]
        except UsageError as error:
            raise UsageError(f"row {number}: {error}") from None
        yield row
        reader.take(",")
    if not number:
        reader.expect("(")


def _file_rows(path: str, chosen: list[Column | None]) -> Iterator[Row]:
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            for number, cells in enumerate(csv.reader(stream, skipinitialspace=True), start=1):
                _check_count(len(cells), len(chosen), f"{path}: line {number}")
                try:
                    yield [
                        (column, cell_of(cell, column or _NAME))
                        for column, cell in zip(chosen, cells, strict=True)
                    ]
                except UsageError as error:
                    raise UsageError(f"{path}: line {number}: {error}") from None
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error


def _check_count(given: int, wanted: int, where: str) -> None:
    if given != wanted:
        raise UsageError(f"{where} has {given} values for {wanted} columns")


def _record(target: Target, row: Row, now_ms: int) -> Record:
    name = target.table.name if target.table is not None else ""
    value: dict[str, Any] = {}
    tags: dict[str, Any] = dict(target.table.tags) if target.table is not None else {}
    for column, given in row:
        if column is None:
            name = given or ""
        elif column.is_tag:
            tags[column.name] = given
        elif given is not None:
            value[column.name] = given
    if not name:
        raise UsageError("tbname is NULL: a row needs the name of its sub-table")
    if target.table is None and name not in target.new:
        target.new[name] = SubTable(name, target.topic.database, target.topic.name, tags, now_ms)
    timestamp_ms = _timestamp_ms(target.columns, value, now_ms)
    headers = _headers(target.columns, tags)
    if headers and target.told.get(name) == headers:
        headers = ()
    elif headers:
        target.told[name] = headers
    target.tables.add(name)
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Record(0, timestamp_ms, name.encode(), data, headers)


def _timestamp_ms(columns: Columns, value: dict[str, Any], now_ms: int) -> int:
    """Return the record's timestamp: the value of the first column if that is one.  Raises: UsageError."""
    first = columns.declared[0]
    if first.type.kind is not Kind.TIMESTAMP:
        return now_ms
    if first.name not in value:
        raise UsageError(f"column {first.name!r}, the time of the row, needs a value")
    return int(value[first.name]) * first.type.unit_ns // MS_NS


def _headers(columns: Columns, tags: dict[str, Any]) -> Headers:
    """Return the headers that carry tags; NULL is not carried."""
    found = []
    for name, value in tags.items():
        column = columns.find(name)
        if value is not None and column is not None:
            found.append((f"{HEADER_PREFIX}{column.name}", _tag_text(column, value).encode()))
    return tuple(found)


def _tag_text(column: Column, value: Any) -> str:
    """Return a tag as its header has it."""
    if column.type.kind is Kind.STRING:
        return str(value)
    if column.type.kind is Kind.TIMESTAMP:
        return format_timestamp(value, column.type.unit_ns) or str(value)
    return json.dumps(value, ensure_ascii=False)
