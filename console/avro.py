"""Avro's binary encoding read into JSON, by a schema as a registry holds it; for people who look at records.

Bytes and fixed become text of one character a byte, as in Avro's own JSON encoding; decimals, dates and times
become text.  A union shows its value alone.

Source: Apache Avro 1.12, Specification: Binary Encoding, JSON Encoding, Logical Types.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

Schema = Any
Read = Callable[["Cursor"], Any]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES: Final = {
    "timestamp-millis": lambda number: _moment(milliseconds=number),
    "timestamp-micros": lambda number: _moment(microseconds=number),
    "date": lambda number: (date(1970, 1, 1) + timedelta(days=number)).isoformat(),
}


class AvroError(ValueError):
    """Bytes that are not of their schema, or a schema that is none."""


class Cursor:
    """A place in the bytes of one value."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """Return the next bytes.  Raises: AvroError when there are fewer."""
        if not 0 <= count <= len(self.data) - self.at:
            raise AvroError(f"{count} bytes are wanted at byte {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def long(self) -> int:
        """Return the next zigzag varint.  Raises: AvroError."""
        number = shift = 0
        while True:
            (byte,) = self.take(1)
            number |= (byte & 127) << shift
            if byte < 128:
                return number >> 1 ^ -(number & 1)
            shift += 7
            if shift > 63:
                raise AvroError(f"a number at byte {self.at} does not end")


class AvroReader:
    """A reader of values of one schema, whose references are schemas read before it."""

    def __init__(self, schema: Schema, references: list[Schema] | None = None) -> None:
        """Compile the schema.  Raises: AvroError."""
        self._named: dict[str, Read] = {}
        for reference in references or ():
            self._compiled(reference, "")
        self._read = self._compiled(schema, "")

    def read(self, data: bytes) -> Any:
        """Return a value as JSON has it.  Raises: AvroError."""
        cursor = Cursor(data)
        try:
            found = self._read(cursor)
        except (UnicodeDecodeError, OverflowError, RecursionError, IndexError) as error:
            raise AvroError(f"byte {cursor.at}: {error}") from error
        if cursor.at != len(data):
            raise AvroError(f"{len(data) - cursor.at} bytes follow the value")
        return found

    def _compiled(self, schema: Schema, space: str) -> Read:
        if isinstance(schema, list):
            return _union([self._compiled(part, space) for part in schema])
        if isinstance(schema, str):
            return _PRIMITIVES.get(schema) or self._reference(schema, space)
        if not isinstance(schema, dict) or "type" not in schema:
            raise AvroError(f"{schema!r} is no schema")
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
                raise AvroError(f"the type {name!r} is not in the schema or its references")
            return named[full if full in named else name](cursor)

        return read

    def _declared(self, schema: Schema, kind: str, space: str) -> Read:
        name = schema["name"]
        space = schema.get("namespace") or (name.rpartition(".")[0] if "." in name else space)
        full = name if "." in name or not space else f"{space}.{name}"
        if kind == "enum":
            symbols = schema["symbols"]
            read: Read = lambda cursor: _at(symbols, cursor.long())  # noqa: E731
        elif kind == "fixed":
            size = schema["size"]
            read = _logical(schema, lambda cursor: cursor.take(size).decode("latin-1"))
        else:
            fields = [(field["name"], self._compiled(field["type"], space)) for field in schema["fields"]]
            read = lambda cursor: {field: value(cursor) for field, value in fields}  # noqa: E731
        self._named[full] = self._named[name] = read
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
            if count > len(cursor.data):
                raise AvroError(f"a block of {count} items in {len(cursor.data)} bytes")
            found += [(item(cursor), value(cursor)) if value else item(cursor) for _ in range(count)]
        return dict(found) if value else found

    return read


def _logical(schema: Schema, read: Read) -> Read:
    kind = schema.get("logicalType")
    if kind in _TIMES:
        return lambda cursor: _TIMES[kind](read(cursor))
    if kind == "decimal":
        scale = int(schema.get("scale", 0))
        return lambda cursor: _decimal(read(cursor), scale)
    return read


def _decimal(text: str, scale: int) -> str:
    number = int.from_bytes(text.encode("latin-1"), "big", signed=True)
    return str(Decimal(number).scaleb(-scale))


def _moment(**since: int) -> str:
    return (_EPOCH + timedelta(**since)).isoformat().replace("+00:00", "Z")


def _at(parts: list[Any], index: int) -> Any:
    if not 0 <= index < len(parts):
        raise AvroError(f"there is no part {index} of {len(parts)}")
    return parts[index]


_PRIMITIVES: Final[dict[str, Read]] = {
    "null": lambda _: None,
    "boolean": lambda cursor: cursor.take(1) != b"\0",
    "int": Cursor.long,
    "long": Cursor.long,
    "float": lambda cursor: struct.unpack("<f", cursor.take(4))[0],
    "double": lambda cursor: struct.unpack("<d", cursor.take(8))[0],
    "bytes": lambda cursor: cursor.take(cursor.long()).decode("latin-1"),
    "string": lambda cursor: cursor.take(cursor.long()).decode(),
}
