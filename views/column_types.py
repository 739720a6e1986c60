"""The types of columns and expressions, and their names in statements, in `kawal.columns` and in schemas.

Eight kinds of values, as Python has them while a record is evaluated; NULL is None in each:

    bool       bool
    int        int, from the least to the greatest of its type; arithmetic gives bigint
    double     float, never NaN nor infinite; `float` is the same, because JSON has no smaller numbers
    string     str; `varchar(n)` and `nchar(n)` hold at most n characters
    timestamp  int, counted since 1970 in the unit of its type: ms (unless named), us or ns
    json       any JSON value, as it stands in the record
    null       the literal NULL, which fits every type
    duration   int, nanoseconds, as in `1h`: only in statements, beside timestamps
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
# Units of timestamps, in nanoseconds.
UNIT_NS: Final = {"ms": 1_000_000, "us": 1_000, "ns": 1}
# TDengine's longest column; longer values would be documents, not columns.
LENGTH_MAX: Final = 65_517


class Kind(Enum):
    """The kind of a value, which determines its type in Python."""

    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    TIMESTAMP = "timestamp"
    JSON = "json"
    NULL = "null"
    DURATION = "duration"


@dataclass(frozen=True, slots=True)
class Type:
    """A kind with its limits: `low` and `high` of integers, `length` of strings, `unit` of timestamps."""

    kind: Kind
    name: str
    low: int = INT64_MIN
    high: int = INT64_MAX
    length: int | None = None
    unit: str = ""

    def __str__(self) -> str:
        """Return the name that `parse_type` reads back."""
        if self.kind is Kind.TIMESTAMP:
            return f"{self.name}({self.unit})"
        return self.name if self.length is None else f"{self.name}({self.length})"

    @property
    def is_number(self) -> bool:
        """Whether values take part in arithmetic."""
        return self.kind is Kind.INT or self.kind is Kind.DOUBLE

    @property
    def unit_ns(self) -> int:
        """The nanoseconds in one unit of a timestamp."""
        return UNIT_NS[self.unit]


def _integer(name: str, bits: int) -> Type:
    return Type(Kind.INT, name, -(1 << bits - 1), (1 << bits - 1) - 1)


def _unsigned(name: str, bits: int) -> Type:
    # An unsigned bigint goes only as far as a bigint: evaluation is in int64.
    return Type(Kind.INT, f"{name} unsigned", 0, min((1 << bits) - 1, INT64_MAX))


def timestamp_type(unit: str) -> Type:
    """Return the type of timestamps in `unit`, which is ms, us or ns."""
    return Type(Kind.TIMESTAMP, "timestamp", unit=unit)


BOOL: Final = Type(Kind.BOOL, "bool")
BIGINT: Final = _integer("bigint", 64)
INT: Final = _integer("int", 32)
DOUBLE: Final = Type(Kind.DOUBLE, "double")
STRING: Final = Type(Kind.STRING, "string")
TIMESTAMP_MS: Final = timestamp_type("ms")
JSON: Final = Type(Kind.JSON, "json")
NULL: Final = Type(Kind.NULL, "null")
DURATION: Final = Type(Kind.DURATION, "duration")

_SIZES = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_PLAIN: Final = {
    **{str(simple): simple for simple in (BOOL, DOUBLE, STRING, JSON)},
    **{name: _integer(name, bits) for name, bits in _SIZES.items()},
    **{f"{name} unsigned": _unsigned(name, bits) for name, bits in _SIZES.items()},
    "float": Type(Kind.DOUBLE, "float"),
    "boolean": BOOL,
    "integer": INT,
    "any": JSON,
    "text": STRING,
    "varchar": STRING,
    "nchar": STRING,
    "binary": STRING,
    "timestamp": TIMESTAMP_MS,
}
_WITH_LENGTH: Final = ("varchar", "nchar", "binary", "string")
_PARAMETER = re.compile(r"([a-z]+) ?\( ?([a-z0-9]+) ?\)")

TYPE_NAMES: Final = (
    "bool, tinyint, smallint, int, bigint (each also unsigned), float, double, string, varchar(n), "
    "nchar(n), timestamp, timestamp(us), timestamp(ns), json"
)


def length_hint(text: str) -> str:
    """Return what is wrong with the length in the name of a type, "" if that is not what is wrong."""
    match = _PARAMETER.fullmatch(" ".join(text.lower().split()))
    if match is None or match[1] not in _WITH_LENGTH:
        return ""
    return f"is not possible: its length is a number from 1 to {LENGTH_MAX:,}"


def parse_type(text: str) -> Type | None:
    """Return the type named `text` in any case, or None when there is no such type."""
    name = " ".join(text.lower().split())
    if (plain := _PLAIN.get(name)) is not None:
        return plain
    if (match := _PARAMETER.fullmatch(name)) is None:
        return None
    name, parameter = match.groups()
    if name == "timestamp" and parameter in UNIT_NS:
        return timestamp_type(parameter)
    if name in _WITH_LENGTH and parameter.isascii() and parameter.isdigit() and len(parameter) <= 5:
        length = int(parameter)
        return Type(Kind.STRING, name, length=length) if 0 < length <= LENGTH_MAX else None
    return None
