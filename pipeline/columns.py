"""The columns that `schema.columns` declares, read without Spark: `ts bigint not null, at timestamp, f
array<int>`.

    columns := column ("," column)*          column := name [":"] type ["not" "null"] ["comment" text]
    type    := array<type> | map<string, type> | struct<column, …> | decimal[(p[, s])] | date | simple

`simple` is any type of a view's column (`views.column_types`), which the value's JSON is then read by.
Spark's own names (`long`, `boolean`, …) mean the same. What a column is stored as has Spark's name.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any, Final

from pipeline.errors import JobFileError
from views.column_types import Kind, Type, parse_type

STORED: Final = {
    "bool": "boolean",
    "boolean": "boolean",
    "integer": "int",
    "tinyint unsigned": "smallint",
    "smallint unsigned": "int",
    "int unsigned": "bigint",
    "bigint unsigned": "bigint",
}
"""The stored type where it is not called as the declared one: unsigned integers need the next larger."""

SPARK_NAMES: Final = {"byte": "tinyint", "short": "smallint", "long": "bigint", "real": "float"}
SPARK_JSON: Final = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
"""Names in Spark's JSON form of a schema, where they differ from those in SQL."""

KNOWN: Final = (
    "bool, tinyint, smallint, int, bigint (each also unsigned), float, double, decimal(p,s), string, "
    "varchar(n), "
    "date, timestamp, timestamp(us), timestamp(ns), json, array<type>, map<string,type>, struct<name: type>"
)
_PLURAL = ("array", "map", "struct")
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|('(?:[^']|'')*')|(\w+)|([<>(),:]))", re.UNICODE)
_DEPTH_MAX: Final = 24
_DIGITS_MAX: Final = 38
"""Spark's largest decimal."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type: `rule` says how JSON is read where views have the type, `fields` what a nested one consists of.

    `name` is the stored type without its parameters. An array has one field, and so has a map (its values).
    """

    name: str
    rule: Type | None = None
    digits: int = 0
    scale: int = 0
    fields: tuple[Column, ...] = ()

    def __str__(self) -> str:
        """Return the stored type as Spark writes it: `array<struct<a:int>>`."""
        match self.name:
            case "decimal":
                return f"decimal({self.digits},{self.scale})"
            case "array":
                return f"array<{self.fields[0].type}>"
            case "map":
                return f"map<string,{self.fields[0].type}>"
            case "struct":
                return f"struct<{','.join(f'{field.name}:{field.type}' for field in self.fields)}>"
        return self.name

    @property
    def spark_json(self) -> Any:
        """The stored type in Spark's JSON form, which Delta uses as well."""
        match self.name:
            case "array":
                return {"type": "array", "elementType": self.fields[0].type.spark_json, "containsNull": True}
            case "map":
                of = self.fields[0].type.spark_json
                return {"type": "map", "keyType": "string", "valueType": of, "valueContainsNull": True}
            case "struct":
                return struct_json(self.fields)
        return SPARK_JSON.get(self.name, str(self))


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column, or a field of a struct."""

    name: str
    type: ColumnType
    nullable: bool = True


def struct_json(fields: tuple[Column, ...]) -> dict[str, Any]:
    """Return columns in Spark's JSON form; all are nullable, as in every Parquet file that Spark writes."""
    return {
        "type": "struct",
        "fields": [
            {"name": field.name, "type": field.type.spark_json, "nullable": True, "metadata": {}}
            for field in fields
        ],
    }


def parse_columns(text: str) -> tuple[Column, ...]:
    """Read `schema.columns`; empty text declares none.

    Raises: JobFileError, which names the column and what is wrong with it.
    """
    reader = _Reader(text)
    return reader.columns(end="") if reader.tokens else ()


def parse_stored(text: str) -> ColumnType:
    """Read a stored type, as `str` of a `ColumnType` writes it."""
    return _Reader(text, stored=True).stored()


class _Reader:
    """A reader of the tokens of `schema.columns`; among `stored` types, binary is not text, but bytes."""

    def __init__(self, text: str, *, stored: bool = False) -> None:
        self._stored = stored
        self.tokens: list[str] = []
        self.at = 0
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise _problem(f"cannot be read at {text[position : position + 20]!r}")
            self.tokens.append(match[0].strip())
            position = match.end()

    def stored(self) -> ColumnType:
        """Read one type, and nothing else."""
        kind = self._type("value", 0)
        assert self.at == len(self.tokens), self.tokens
        return kind

    def columns(self, *, end: str, depth: int = 0) -> tuple[Column, ...]:
        """Read columns up to the token `end`, which stays; "" is the end of the text."""
        read: list[Column] = []
        while True:
            column = self._column(depth)
            if any(column.name == other.name for other in read):
                raise _problem(f"declares {column.name!r} twice")
            read.append(column)
            if self._peek() == end:
                return tuple(read)
            self._expect(",", f"after column {column.name!r}")

    def _column(self, depth: int) -> Column:
        name = self._next("the name of a column")
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        elif not re.fullmatch(r"\w+", name):
            raise _problem(f"has {name!r} where the name of a column should be")
        if self._peek() == ":":
            self.at += 1
        if self._peek() in ("", ",", ">"):
            raise _problem(f"gives column {name!r} no type; write '{name} bigint', or another of {KNOWN}")
        kind = self._type(name, depth)
        return Column(name, kind, self._nullable(name))

    def _nullable(self, name: str) -> bool:
        nullable = True
        if self._peek().lower() == "not":
            self.at += 1
            if self._next("null").lower() != "null":
                raise _problem(f"has NOT without NULL after column {name!r}")
            nullable = False
        if self._peek().lower() == "comment":
            self.at += 1
            if not self._next("a comment in quotes").startswith("'"):
                raise _problem(f"has a comment without quotes after column {name!r}")
        return nullable

    def _type(self, column: str, depth: int) -> ColumnType:
        if depth > _DEPTH_MAX:
            raise _problem(f"nests the type of {column!r} deeper than {_DEPTH_MAX}")
        word = self._next("a type").lower()
        if word in _PLURAL:
            return self._nested(word, column, depth + 1)
        if word in ("decimal", "dec", "numeric"):
            return self._decimal(column)
        if word == "date":
            return ColumnType("date")
        word = SPARK_NAMES.get(word, word)
        if self._peek().lower() == "unsigned":
            self.at += 1
            word += " unsigned"
        return self._simple(column, word, self._parameters())

    def _simple(self, column: str, word: str, parameters: list[str]) -> ColumnType:
        if self._stored and word == "binary":
            return ColumnType("binary")
        if word in ("timestamp_ntz", "timestamp_ltz"):
            rule = parse_type("timestamp(us)" if parameters == ["us"] else "timestamp")
            return ColumnType("timestamp_ntz" if word == "timestamp_ntz" else "timestamp", rule)
        written = f"{word}({','.join(parameters)})" if parameters else word
        rule = parse_type("varchar" + written[4:] if word == "char" else written)
        if rule is None:
            near = difflib.get_close_matches(word, KNOWN.replace("(", " ").replace(",", " ").split(), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {KNOWN}"
            raise _problem(f"gives column {column!r} the unknown type {written!r}; {hint}")
        if rule.kind in (Kind.STRING, Kind.JSON):
            return ColumnType("string", rule)
        if rule.kind is Kind.TIMESTAMP:
            return ColumnType("timestamp", rule)
        return ColumnType(STORED.get(word, word), rule)

    def _nested(self, word: str, column: str, depth: int) -> ColumnType:
        self._expect("<", f"after {word} of column {column!r}")
        if word == "struct":
            fields = self.columns(end=">", depth=depth)
        else:
            if word == "map":
                if self._next("string").lower() != "string":
                    raise _problem(f"gives the map {column!r} keys that are not string; JSON has no others")
                self._expect(",", f"in the map {column!r}")
            fields = (Column("element" if word == "array" else "value", self._type(column, depth)),)
        self._expect(">", f"at the end of the {word} {column!r}")
        return ColumnType(word, fields=fields)

    def _decimal(self, column: str) -> ColumnType:
        given = self._parameters() or ["10", "0"]
        numbers = [int(number) for number in given if number.isdigit()]
        if len(numbers) != len(given) or len(given) > 2:
            raise _problem(
                f"gives the decimal {column!r} the parameters ({','.join(given)}); write decimal(10,2)"
            )
        digits, scale = numbers[0], numbers[1] if len(numbers) == 2 else 0
        if not 0 < digits <= _DIGITS_MAX or scale > digits:
            raise _problem(
                f"gives column {column!r} the type decimal({digits},{scale}); at most {_DIGITS_MAX} digits "
                "are "
                "possible, of which the scale is a part"
            )
        return ColumnType("decimal", digits=digits, scale=scale)

    def _parameters(self) -> list[str]:
        if self._peek() != "(":
            return []
        self.at += 1
        found = [self._next("a number")]
        while self._peek() == ",":
            self.at += 1
            found.append(self._next("a number"))
        self._expect(")", "after a parameter")
        return found

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self, wanted: str) -> str:
        if self.at >= len(self.tokens):
            raise _problem(f"ends where {wanted} should be")
        self.at += 1
        return self.tokens[self.at - 1]

    def _expect(self, token: str, place: str) -> None:
        found = self._peek()
        if found != token:
            raise _problem(f"has {found or 'nothing'!r} where {token!r} should be, {place}")
        self.at += 1


def _problem(what: str) -> JobFileError:
    return JobFileError(f"schema.columns {what}")
