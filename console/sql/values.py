"""Literals of INSERT as values of columns: what TDengine takes for a type, as JSON has it.

timestamp   a whole number in the column's unit; text in ISO 8601 or SQL's form, UTC unless it has an
            offset; NOW, TODAY, each with durations after it, as NOW - 1h + 30m
bool        TRUE, FALSE, 1, 0        string, json   text in quotes        numbers   as they are
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from sqlglot.tokenizer_core import Token, TokenType

from console.errors import UsageError
from views.column_types import Kind, Type
from views.columns import Column
from views.durations import parse_duration
from views.timestamps import parse_timestamp

DAY_MS: Final = 86_400_000
MS_NS: Final = 1_000_000


class _Unfit(ValueError):
    """A literal that is understood and does not fit; the sentence says why."""


def value_of(read: Sequence[Token], column: Column, now_ms: int) -> Any:
    """Return the value that these tokens give a column; None for NULL.  Raises: UsageError."""
    text = "".join(("0x" if token.token_type is TokenType.HEX_STRING else "") + token.text for token in read)
    quoted = len(read) == 1 and read[0].token_type is TokenType.STRING
    if not quoted and text.upper() == "NULL":
        return None
    return _read(text, column, quoted=quoted, now_ms=now_ms)


def cell_of(text: str, column: Column) -> Any:
    """Return the value that a cell of a CSV file gives a column; nothing and NULL are None.

    Raises: UsageError.
    """
    if text in ("", "NULL"):
        return None
    is_number = column.type.kind in (Kind.BOOL, Kind.INT, Kind.DOUBLE)
    quoted = not is_number and not (column.type.kind is Kind.TIMESTAMP and text.lstrip("-").isdigit())
    return _read(text, column, quoted=quoted, now_ms=0)


def _read(text: str, column: Column, *, quoted: bool, now_ms: int) -> Any:
    try:
        return _READERS[column.type.kind](text, quoted, column.type, now_ms)
    except ValueError as error:
        why = f": {error}" if isinstance(error, _Unfit) else ""
        raise UsageError(f"{text[:60]!r} is not a value of column '{column}'{why}") from None


def _bool(text: str, quoted: bool, _kind: Type, _now_ms: int) -> bool:
    word = text.lower()
    if quoted or word not in ("true", "false", "1", "0"):
        raise _Unfit("write TRUE or FALSE")
    return word in ("true", "1")


def _int(text: str, _quoted: bool, kind: Type, _now_ms: int) -> int:
    number = int(text, 0)
    if not kind.low <= number <= kind.high:
        raise _Unfit(f"it must be between {kind.low} and {kind.high}")
    return number


def _double(text: str, _quoted: bool, _kind: Type, _now_ms: int) -> float:
    number = float(text)
    if number - number != 0:
        raise _Unfit("it must be finite")
    return number


def _string(text: str, quoted: bool, kind: Type, _now_ms: int) -> str:
    if not quoted:
        raise _Unfit("text is put in quotes")
    if kind.length is not None and len(text) > kind.length:
        raise _Unfit(f"it has {len(text)} characters, and at most {kind.length} are allowed")
    return text


def _timestamp(text: str, quoted: bool, kind: Type, now_ms: int) -> int:
    if quoted:
        found = parse_timestamp(text, kind.unit_ns)
        if found is None:
            raise _Unfit("write it like '2026-01-31 23:59:59.123'")
        return found
    word, rest = text.upper(), ""
    for start, base_ms in (("NOW", now_ms), ("TODAY", now_ms - now_ms % DAY_MS)):
        if word.startswith(start):
            rest = text[len(start) :].removeprefix("()")
            return (base_ms * MS_NS + _shift(rest)) // kind.unit_ns
    return int(text, 0)


def _shift(text: str) -> int:
    """Return the nanoseconds of durations with their signs, such as `-1h+30m`."""
    total = 0
    for part in text.replace("-", " -").replace("+", " +").split():
        nanoseconds = parse_duration(part[1:])
        if part[0] not in "+-" or nanoseconds is None:
            raise _Unfit("after NOW come durations, as in NOW - 1h")
        total += nanoseconds if part[0] == "+" else -nanoseconds
    return total


def _json(text: str, quoted: bool, _kind: Type, _now_ms: int) -> Any:
    if not quoted:
        raise _Unfit("JSON is put in quotes")
    return json.loads(text)


_READERS: Final = {
    Kind.BOOL: _bool,
    Kind.INT: _int,
    Kind.DOUBLE: _double,
    Kind.STRING: _string,
    Kind.TIMESTAMP: _timestamp,
    Kind.JSON: _json,
}
