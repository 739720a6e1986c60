"""The values of records read into columns, by the rules of views: what fits a view fits a table, and reads
the same.

For types that views have, the decoder is the views' own (`views.evaluator`): a record whose value is null has
NULL in every column, of a member that is named twice the last value counts, integers given for timestamps
count in the unit of their type. The other types follow suit:

    decimal    a number or its digits in quotes, rounded (half up) to the scale; more digits do not fit
    date       '2013-01-31'
    array, map, struct    of what fits their types, or null
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import msgspec

from pipeline.columns import Column, ColumnType
from views import columns as view_columns
from views.column_types import Kind
from views.evaluator import field_type, timestamp_reader
from views.runtime_json import NULL_TEXT
from views.runtime_json import text as json_text
from views.unfit_reasons import UNEXPLAINED, Explainer, cut

Convert = Callable[[Any], Any]

FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError, ArithmeticError)
MICROSECONDS: Final = {"ms": 1_000, "us": 1, "ns": 0}
TIMESTAMP_MAX: Final = 2**63 - 1
_ROUNDING: Final = Context(prec=76, rounding=ROUND_HALF_UP)
_SHOWN: Final = 80
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class JsonReader:
    """A reader of the declared columns, made once per process."""

    def __init__(self, columns: Sequence[Column], *, rescue: bool = False) -> None:
        fields = [
            (f"f{at}", _annotation(column.type), _default(column.type)) for at, column in enumerate(columns)
        ]
        rename = {f"f{at}": column.name for at, column in enumerate(columns)}
        row = msgspec.defstruct("Row", fields, rename=rename, gc=False)
        self._empty = row(**{f"f{at}": None for at in range(len(columns))})
        self._decode = msgspec.json.Decoder(row).decode
        self._columns = list(columns)
        self._columns_of = [attrgetter(f"f{at}") for at in range(len(columns))]
        self._converts = [
            (at, convert) for at, column in enumerate(columns) if (convert := _converter(column.type))
        ]
        self._required = [(at, column.name) for at, column in enumerate(columns) if not column.nullable]
        self._names = frozenset(column.name for column in columns)
        self._rescues = rescue
        self._explain = Explainer(
            view_columns.Column(column.name, column.type.rule) for column in columns if column.type.rule
        ).explain

    def read(self, values: Iterable[bytes | None]) -> tuple[list[list[Any]], list[Any], list[str | None]]:
        """Return one list per column, the undeclared members, and per value why it does not fit, None if it
        does.

        A value that does not fit has None in every column. Undeclared members are pairs of name and text.
        """
        content = list(values)
        if self._rescues:
            return self._read_each(content)
        rows, faults = self._decoded(content)
        columns = [list(map(column_of, rows)) for column_of in self._columns_of]
        try:
            self._finish(columns, len(faults))
        except FAULTS:  # some record does not fit, and its reason is found record by record
            return self._read_each(content)
        reasons: list[str | None] = [None] * len(content)
        for at, error in faults:
            reasons[at] = self._reason(content[at], error)
        return columns, [None] * len(content), reasons

    def _decoded(self, content: list[bytes | None]) -> tuple[list[Any], list[tuple[int, Exception]]]:
        """Decode all values; return the rows, empty where a value cannot be decoded, and these faults."""
        rows: list[Any] = []
        faults: list[tuple[int, Exception]] = []
        append, decode, empty, left = rows.append, self._decode, self._empty, iter(content)
        while len(rows) < len(content):
            try:
                # A fault leaves the loop, not the iterator: entering a block for each value would cost more.
                for value in left:
                    append(empty if value is None else decode(value))
            except FAULTS as error:
                faults.append((len(rows), error))
                append(empty)
        return rows, faults

    def _finish(self, columns: list[list[Any]], empty: int) -> None:
        """Check and convert whole columns, in which so many rows are empty.  Raises: one of FAULTS."""
        for at, name in self._required:
            if columns[at].count(None) > empty:
                raise _Missing(name)
        for at, convert in self._converts:
            columns[at] = [None if found is None else convert(found) for found in columns[at]]

    def _read_each(self, content: list[bytes | None]) -> tuple[list[list[Any]], list[Any], list[str | None]]:
        rows: list[Any] = []
        rest: list[Any] = []
        reasons: list[str | None] = []
        read_one = self.read_one
        for value in content:
            try:
                row = read_one(value)
                others = self._undeclared(value) if self._rescues else None
            except FAULTS as error:
                row, others = self._empty, None
                reasons.append(self._reason(value, error))
            else:
                reasons.append(None)
            rows.append(row)
            rest.append(others)
        return [list(map(column_of, rows)) for column_of in self._columns_of], rest, reasons

    def _undeclared(self, value: bytes | None) -> list[tuple[str, str | None]] | None:
        if value is None:
            return None
        found = [(name, bytes(raw)) for name, raw in _members(value).items() if name not in self._names]
        return [(name, None if raw == NULL_TEXT else json_text(raw)) for name, raw in found] or None

    def _reason(self, value: bytes | None, error: Exception) -> str:
        if isinstance(error, _Missing):
            absent = "the record has no value" if value is None else "missing or null"
            return f"{error}: declared not null, but {absent}"
        explained = self._explain(value)
        return explained if explained != UNEXPLAINED else self._own_reason(value or b"")

    def _own_reason(self, value: bytes) -> str:
        """Look at the columns of the types that views do not have."""
        try:
            members = _members(value)
        except FAULTS:
            return UNEXPLAINED
        for column in self._columns:
            raw = bytes(members.get(column.name, NULL_TEXT))
            try:
                _alone(column).read_one(b"{%s:%s}" % (json.dumps(column.name).encode(), raw))
            except FAULTS:
                shown = raw.decode("utf-8", "replace")
                shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
                return cut(f"{column.name}: expected {column.type}, got {shown}")
        return UNEXPLAINED

    def read_one(self, value: bytes | None) -> Any:
        """Read one value that must fit.  Raises: one of FAULTS."""
        row = self._empty if value is None else self._decode(value)
        for at, name in self._required:
            if self._columns_of[at](row) is None:
                raise _Missing(name)
        if row is not self._empty:
            for at, convert in self._converts:
                found = self._columns_of[at](row)
                if found is not None:
                    setattr(row, f"f{at}", convert(found))
        return row


class _Missing(ValueError):
    """A column declared not null has no value; the text is its name."""


@lru_cache(maxsize=4_096)
def _alone(column: Column) -> JsonReader:
    return JsonReader([Column(column.name, column.type)])


def _default(kind: ColumnType) -> Any:
    return msgspec.Raw(NULL_TEXT) if _is_json(kind) else None


def _is_json(kind: ColumnType) -> bool:
    return kind.rule is not None and kind.rule.kind is Kind.JSON


def _annotation(kind: ColumnType) -> Any:
    """Return the type, for msgspec, of the JSON that fits `kind`; null always does."""
    if kind.rule is not None:
        return field_type(kind.rule)
    match kind.name:
        case "decimal":
            return Decimal | None
        case "date":
            return date | None
        case "array":
            return list[_annotation(kind.fields[0].type)] | None  # type: ignore[misc]
        case "map":
            return dict[str, _annotation(kind.fields[0].type)] | None  # type: ignore[misc]
    members = [
        (f"f{at}", _annotation(field.type), _default(field.type)) for at, field in enumerate(kind.fields)
    ]
    rename = {f"f{at}": field.name for at, field in enumerate(kind.fields)}
    return msgspec.defstruct("Member", members, rename=rename) | None


def _converter(kind: ColumnType) -> Convert | None:
    """Return the function from what msgspec read to what Arrow takes, None when they are the same."""
    if kind.rule is not None:
        if kind.rule.kind is Kind.TIMESTAMP:
            return _timestamp(kind)
        return _json_text if kind.rule.kind is Kind.JSON else None
    match kind.name:
        case "decimal":
            return _decimal(kind)
        case "array":
            each = _or_none(_converter(kind.fields[0].type))
            return each and (lambda found: [each(item) for item in found])
        case "map":
            of = _or_none(_converter(kind.fields[0].type)) or (lambda item: item)
            return lambda found: [(name, of(item)) for name, item in found.items()]
        case "struct":
            return _struct(kind)
    return None


def _or_none(convert: Convert | None) -> Convert | None:
    return convert and (lambda found: None if found is None else convert(found))


def _struct(kind: ColumnType) -> Convert:
    members = [
        (f"f{at}", field.name, _or_none(_converter(field.type)) or (lambda item: item))
        for at, field in enumerate(kind.fields)
    ]

    def convert(found: Any) -> dict[str, Any]:
        return {name: of(getattr(found, member)) for member, name, of in members}

    return convert


def _timestamp(kind: ColumnType) -> Convert:
    """Return the reader of a timestamp's microseconds, by the views' rules for its unit."""
    assert kind.rule is not None
    read, unit = timestamp_reader(kind.rule), kind.rule.unit
    factor = MICROSECONDS[unit]

    def convert(found: int | str) -> int:
        number = read(found) if isinstance(found, str) else found
        micros = number * factor if factor else number // 1_000
        if not -TIMESTAMP_MAX <= micros <= TIMESTAMP_MAX:
            raise OverflowError(f"the time {number} {unit} cannot be stored")
        return micros

    return convert


def _decimal(kind: ColumnType) -> Convert:
    step, most = Decimal(1).scaleb(-kind.scale), kind.digits

    def convert(found: Decimal) -> Decimal:
        if not found.is_finite():
            raise OverflowError("not a number that a decimal can be")
        rounded = found.quantize(step, context=_ROUNDING)
        if len(rounded.as_tuple().digits) > most and rounded:
            raise OverflowError("too many digits")
        return rounded

    return convert


def _json_text(found: msgspec.Raw) -> str | None:
    raw = bytes(found)
    return None if raw == NULL_TEXT else raw.decode()
