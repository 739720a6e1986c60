"""Avro's binary encoding read into JSON, by a schema as a registry holds it.

Bytes and fixed become text of one character a byte, as in Avro's own JSON encoding; decimals, dates, times,
NaN and the infinities become text.  A union shows its value alone.

A value may be hostile, and a schema may have types that take no bytes: what is made of a value is limited by
its length.

Source: Apache Avro 1.12, Specification: Binary Encoding, JSON Encoding, Logical Types.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from registry.errors import NotOfSchema, SchemaProblem

Schema = Any
Read = Callable[["Cursor"], Any]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES: Final = {
    "timestamp-millis": lambda number: _moment(milliseconds=number),
    "timestamp-micros": lambda number: _moment(microseconds=number),
    "date": lambda number: (date(1970, 1, 1) + timedelta(days=number)).isoformat(),
}


PARTS_PER_BYTE: Final = 4
"""Fields and items made of each byte at most; all but empty ones take a byte or more."""
PARTS_MIN: Final = 10_000
"""As many may be made of any value."""


class Cursor:
    """A place in the bytes of one value."""

    __slots__ = ("_left", "at", "data")

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self._left = PARTS_MIN + PARTS_PER_BYTE * len(data)

    def spend(self, count: int) -> None:
        """Count fields or items that are about to be made.  Raises: NotOfSchema when there are too many."""
        self._left -= count
        if self._left < 0:
            raise NotOfSchema(f"there are more fields and items than {len(self.data)} bytes should have")

    def take(self, count: int) -> bytes:
        """Return the next bytes.  Raises: NotOfSchema when there are fewer."""
        if not 0 <= count <= len(self.data) - self.at:
            raise NotOfSchema(f"{count} bytes are wanted at byte {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def long(self) -> int:
        """Return the next zigzag varint.  Raises: NotOfSchema."""
        number = shift = 0
        while True:
            (byte,) = self.take(1)
            number |= (byte & 127) << shift
            if byte < 128:
                if number >> 64:
                    raise NotOfSchema(f"the number before byte {self.at} has more than 64 bits")
                return number >> 1 ^ -(number & 1)
            shift += 7
            if shift > 63:
                raise NotOfSchema(f"a number at byte {self.at} does not end")


class AvroReader:
    """A reader of values of one schema, whose references are schemas read before it."""

    def __init__(self, schema: Schema, references: list[Schema] | None = None) -> None:
        """Compile the schema.  Raises: SchemaProblem."""
        self._named: dict[str, Read] = {}
        try:
            for reference in references or ():
                self._compiled(reference, "")
            self._read = self._compiled(schema, "")
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SchemaProblem(f"{type(error).__name__}: {error}") from error

    def read(self, data: bytes) -> Any:
        """Return a value as JSON has it.  Raises: NotOfSchema."""
        cursor = Cursor(data)
        try:
            found = self._read(cursor)
        except (UnicodeDecodeError, OverflowError, RecursionError, IndexError) as error:
            raise NotOfSchema(f"byte {cursor.at}: {error}") from error
        if cursor.at != len(data):
            raise NotOfSchema(f"{len(data) - cursor.at} bytes follow the value")
        return found

    def _compiled(self, schema: Schema, space: str) -> Read:
        if isinstance(schema, list):
            return _union([self._compiled(part, space) for part in schema])
        if isinstance(schema, str):
            return _PRIMITIVES.get(schema) or self._reference(schema, space)
        if not isinstance(schema, dict) or "type" not in schema:
            raise SchemaProblem(f"{schema!r} is no schema")
        kind = schema["type"]
        if kind in ("record", "error", "enum", "fixed"):
            return self._declared(schema, kind, space)
        if kind == "array":
            return _blocks(self._compiled(schema["items"], space), None)
        if kind == "map":
            return _blocks(_PRIMITIVES["string"], self._compiled(schema["values"], space))
        return _logical(schema, self._compiled(kind, space))

    def _reference(self, name: str, space: str) -> Read:
        """Return a reader that looks a named type up when it is used: a type may hold itself."""
        full = name if "." in name or not space else f"{space}.{name}"
        named = self._named

        def read(cursor: Cursor) -> Any:
            if full not in named and name not in named:
                raise NotOfSchema(f"the type {name!r} is not in the schema or its references")
            return named[full if full in named else name](cursor)

        return read

    def _declared(self, schema: Schema, kind: str, space: str) -> Read:
        name = schema["name"]
        space = schema.get("namespace") or (name.rpartition(".")[0] if "." in name else space)
        full = name if "." in name or not space else f"{space}.{name}"
        if kind == "enum":
            symbols = list(schema["symbols"])
            read: Read = lambda cursor: _at(symbols, cursor.long())  # noqa: E731
        elif kind == "fixed":
            size = int(schema["size"])
            read = _logical(schema, lambda cursor: cursor.take(size).decode("latin-1"))
        else:
            fields = [(field["name"], self._compiled(field["type"], space)) for field in schema["fields"]]
            read = _record(fields)
        self._named[full] = self._named[name] = read
        return read


def _record(fields: list[tuple[str, Read]]) -> Read:
    count = len(fields)

    def read(cursor: Cursor) -> Any:
        cursor.spend(count)
        return {field: value(cursor) for field, value in fields}

    return read


def _union(parts: list[Read]) -> Read:
    return lambda cursor: _at(parts, cursor.long())(cursor)


def _blocks(item: Read, value: Read | None) -> Read:
    """Return a reader of an array, or of a map when there is a reader of values."""

    def read(cursor: Cursor) -> Any:
        found: list[Any] = []
        while count := cursor.long():
            if count < 0:
                count = -count
                cursor.long()
            cursor.spend(count)
            found += [(item(cursor), value(cursor)) if value else item(cursor) for _ in range(count)]
        return dict(found) if value else found

    return read


def _logical(schema: Schema, read: Read) -> Read:
    kind = schema.get("logicalType")
    if kind in _TIMES:
        return lambda cursor: _TIMES[kind](read(cursor))
    if kind == "decimal":
        scale = int(schema.get("scale", 0))
        if not 0 <= scale <= 1_000:
            raise SchemaProblem(f"a decimal has the scale {scale}")
        return lambda cursor: _decimal(read(cursor), scale)
    return read


def _decimal(text: str, scale: int) -> str:
    number = int.from_bytes(text.encode("latin-1"), "big", signed=True)
    try:
        digits = str(abs(number)).zfill(scale + 1)
    except ValueError as error:  # Python writes 4,300 digits at most
        raise NotOfSchema(f"a decimal of {len(text)} bytes is too long") from error
    whole = len(digits) - scale
    return f"{'-' if number < 0 else ''}{digits[:whole]}{'.' if scale else ''}{digits[whole:]}"


def _float(number: float) -> float | str:
    """Return a number as JSON has it: there is no NaN and no infinity."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _moment(**since: int) -> str:
    return (_EPOCH + timedelta(**since)).isoformat().replace("+00:00", "Z")


def _at(parts: list[Any], index: int) -> Any:
    if not 0 <= index < len(parts):
        raise NotOfSchema(f"there is no part {index} of {len(parts)}")
    return parts[index]


_PRIMITIVES: Final[dict[str, Read]] = {
    "null": lambda _: None,
    "boolean": lambda cursor: cursor.take(1) != b"\0",
    "int": Cursor.long,
    "long": Cursor.long,
    "float": lambda cursor: _float(struct.unpack("<f", cursor.take(4))[0]),
    "double": lambda cursor: _float(struct.unpack("<d", cursor.take(8))[0]),
    "bytes": lambda cursor: cursor.take(cursor.long()).decode("latin-1"),
    "string": lambda cursor: cursor.take(cursor.long()).decode(),
}
