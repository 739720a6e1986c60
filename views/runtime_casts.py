"""CAST: one function for each pair of kinds that has a meaning; what cannot be cast is None, never an error.

- to an integer: doubles are cut towards zero; text is an integer or a number with a point, blanks around it
  allowed, and is cut exactly; what the target type cannot hold is None
- to a string: as in JSON; timestamps as ISO 8601 in UTC; `varchar(n)` cuts after n characters
- to a timestamp: integers count in the target's unit, text is ISO 8601
- to a bool: numbers other than 0 are true; text is true or false, in any case
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from views import runtime_json
from views.column_types import Kind, Type
from views.timestamps import format_timestamp, parse_timestamp

Cast = Callable[[Any], Any]

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE](?P<exponent>[+-]?[0-9]{1,5}))?"
)
_PLACES_MAX: Final = 20
_BLANKS: Final = " \t\r\n"
_BOOLEANS: Final = {"true": True, "false": False}
_to_json = msgspec.json.encode


def cast_function(source: Type, target: Type) -> Cast | None:
    """Return the function from a `source` to a `target` or None; return None where CAST has no meaning."""
    if source.kind is Kind.JSON:
        return _from_json(target)
    casts: dict[Kind, Callable[[Type, Type], Cast | None]] = {
        Kind.BOOL: _to_bool,
        Kind.INT: _to_integer,
        Kind.DOUBLE: _to_double,
        Kind.STRING: _to_string,
        Kind.TIMESTAMP: _to_timestamp,
    }
    make = casts.get(target.kind)
    return None if make is None or source.kind is Kind.DURATION else make(source, target)


def _to_bool(source: Type, target: Type) -> Cast | None:
    if source.kind is Kind.STRING:
        return _bool_of_text
    return bool if source.is_number or source.kind is Kind.BOOL else None


def _bool_of_text(text: str) -> bool | None:
    return _BOOLEANS.get(text.strip(_BLANKS).lower()) if len(text) <= 64 else None


def _to_integer(source: Type, target: Type) -> Cast | None:
    makes: dict[Kind, Cast] = {
        Kind.BOOL: int,
        Kind.INT: int,
        Kind.TIMESTAMP: int,
        Kind.DOUBLE: int,
        Kind.STRING: _integer_of_text,
    }
    make = makes.get(source.kind)
    return None if make is None else partial(_within, make, target.low, target.high)


def _within(make: Cast, low: int, high: int, value: Any) -> int | None:
    number = make(value)
    return number if number is not None and low <= number <= high else None


def _integer_of_text(text: str) -> int | None:
    text = text.strip(_BLANKS)
    if _INTEGER.fullmatch(text):
        return int(text)
    match = _NUMBER.fullmatch(text) if len(text) <= 1_000 else None
    if match is None:
        return None
    # Not by way of a double, which would change numbers above 2^53.
    whole, _, fraction = match["digits"].partition(".")
    places = int(match["exponent"] or 0) - len(fraction)
    digits = int((whole + fraction) or 0)
    if digits and places > _PLACES_MAX:
        return None
    unit = int(10 ** min(abs(places), len(whole + fraction) + _PLACES_MAX))
    size = digits * unit if places >= 0 else digits // unit
    return -size if match["sign"] == "-" else size


def _to_double(source: Type, target: Type) -> Cast | None:
    if source.kind is Kind.STRING:
        return _double_of_text
    return float if source.kind in (Kind.BOOL, Kind.INT, Kind.DOUBLE) else None


def _double_of_text(text: str) -> float | None:
    if len(text) > 1_000 or _NUMBER.fullmatch(text := text.strip(_BLANKS)) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _to_string(source: Type, target: Type) -> Cast | None:
    makes: dict[Kind, Cast] = {
        Kind.STRING: str,
        Kind.BOOL: _json_text,
        Kind.INT: str,
        Kind.DOUBLE: _json_text,
        Kind.TIMESTAMP: partial(_timestamp_text, source.unit_ns if source.unit else 0),
    }
    make = makes.get(source.kind)
    return make if make is None or target.length is None else partial(_cut, make, target.length)


def _cut(make: Cast, length: int, value: Any) -> str | None:
    text = make(value)
    return None if text is None else str(text)[:length]


def _json_text(value: Any) -> str:
    return _to_json(value).decode()


def _timestamp_text(unit_ns: int, value: int) -> str | None:
    return format_timestamp(value, unit_ns)


def _to_timestamp(source: Type, target: Type) -> Cast | None:
    if source.kind is Kind.STRING:
        return partial(_timestamp_of_text, target.unit_ns)
    if source.kind is Kind.INT:
        return int
    return partial(_rescaled, source.unit_ns, target.unit_ns) if source.kind is Kind.TIMESTAMP else None


def _timestamp_of_text(unit_ns: int, text: str) -> int | None:
    return parse_timestamp(text.strip(_BLANKS), unit_ns) if len(text) <= 64 else None


def _rescaled(from_ns: int, to_ns: int, value: int) -> int | None:
    found = value * from_ns // to_ns
    return found if -(2**63) <= found < 2**63 else None


def _from_json(target: Type) -> Cast | None:
    if target.kind is Kind.STRING:
        return runtime_json.text if target.length is None else partial(_cut, runtime_json.text, target.length)
    # The kind of a JSON value shows only in each record.
    makes: dict[type, Cast | None] = {
        python: cast_function(source, target)
        for python, source in (
            (bool, Type(Kind.BOOL, "bool")),
            (int, Type(Kind.INT, "bigint")),
            (float, Type(Kind.DOUBLE, "double")),
            (str, Type(Kind.STRING, "string")),
        )
    }
    return partial(_of_scalar, makes) if target.kind is not Kind.JSON else None


def _of_scalar(makes: dict[type, Cast | None], value: bytes) -> Any:
    found = runtime_json.scalar(value)
    make = makes.get(type(found))
    return None if make is None else make(found)
