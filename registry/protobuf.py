"""Protobuf's values read into JSON, by the descriptors of a registry.

    payload := indexes message        indexes := 0 | count index*        (zigzag varints)

The indexes lead to the message in its file: among the outermost ones, then among those declared inside.

As in Protobuf's own JSON, bytes are base64, enums names, NaN and infinities text, timestamps and durations
text, wrappers their value, Struct and Value JSON.  Fields have their declared names, and 64-bit integers are
numbers, as columns are.  Fields without presence that are absent have their defaults.

Source: Protocol Buffers, Encoding and ProtoJSON; Confluent's documentation of the wire format.
"""

from __future__ import annotations

import math
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final

from registry import well_known
from registry.descriptors import ENUM, MESSAGE, Descriptors, FieldSchema, MessageSchema
from registry.errors import NotOfSchema, SchemaProblem
from registry.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    read_fields,
    read_packed,
    read_varint,
    signed,
    zigzag,
)

Convert = Callable[[Any], Any]

DEPTH_MAX: Final = 100
"""The limit of Protobuf's own readers."""
PARTS_PER_BYTE: Final = 64
PARTS_MAX: Final = 2_000_000
"""Fields made of one value at most, defaults included: two bytes may ask for a message of thousands."""
PARTS_MIN: Final = 10_000


def _number(number: float) -> float | str:
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


_SCALARS: Final[dict[int, tuple[int, Convert, Any]]] = {
    1: (FIXED64, lambda raw: _number(struct.unpack("<d", raw)[0]), 0.0),
    2: (FIXED32, lambda raw: _number(struct.unpack("<f", raw)[0]), 0.0),
    3: (VARINT, lambda raw: signed(raw, 64), 0),
    4: (VARINT, int, 0),
    5: (VARINT, lambda raw: signed(raw, 32), 0),
    6: (FIXED64, lambda raw: int.from_bytes(raw, "little"), 0),
    7: (FIXED32, lambda raw: int.from_bytes(raw, "little"), 0),
    8: (VARINT, bool, False),
    9: (BYTES, lambda raw: str(raw, "utf-8"), ""),
    12: (BYTES, lambda raw: b64encode(raw).decode(), ""),
    13: (VARINT, lambda raw: raw & 0xFFFF_FFFF, 0),
    15: (FIXED32, lambda raw: signed(int.from_bytes(raw, "little"), 32), 0),
    16: (FIXED64, lambda raw: signed(int.from_bytes(raw, "little"), 64), 0),
    17: (VARINT, lambda raw: zigzag(raw & 0xFFFF_FFFF), 0),
    18: (VARINT, zigzag, 0),
}
"""Wire type, conversion and default by FieldDescriptorProto.Type; a group (10) is not read."""


class Budget:
    """The number of fields that may still be made of a value."""

    __slots__ = ("left",)

    def __init__(self, size_bytes: int) -> None:
        self.left = min(PARTS_MIN + PARTS_PER_BYTE * size_bytes, PARTS_MAX)

    def spend(self, count: int) -> None:
        """Count fields.  Raises: NotOfSchema when there are too many."""
        self.left -= count
        if self.left < 0:
            raise NotOfSchema("it stands for more fields than its length should have")


class ProtobufReader:
    """A reader of the values of one file, whose imports are files read before it."""

    def __init__(self, file: bytes, imports: list[bytes] | None = None) -> None:
        """Read serialised FileDescriptorProto.  Raises: SchemaProblem."""
        self._descriptors = Descriptors()
        for imported in imports or ():
            self._descriptors.add(imported)
        self._outermost = self._descriptors.add(file)
        self._readers: dict[str, _MessageReader] = {}

    def read(self, data: bytes) -> Any:
        """Return a payload as JSON has it.  Raises: NotOfSchema, SchemaProblem."""
        name, at = self._message(data)
        try:
            return self.reader(name).read(data[at:], Budget(len(data)), 0)
        except (UnicodeDecodeError, OverflowError, RecursionError) as error:
            raise NotOfSchema(str(error)) from error

    def reader(self, name: str) -> _MessageReader:
        """Return the reader of a message.  Raises: SchemaProblem when there is no such message."""
        found = self._readers.get(name)
        if found is None:
            message = self._descriptors.messages.get(name) or well_known.MESSAGES.get(name)
            if message is None:
                raise SchemaProblem(f"the message {name!r} is not in the schema or its references")
            found = self._readers[name] = _MessageReader(message, self)
        return found

    def enum(self, name: str) -> Mapping[int, Any]:
        """Return the names of an enum's numbers.  Raises: SchemaProblem."""
        found = self._descriptors.enums.get(name) or well_known.ENUMS.get(name)
        if found is None:
            raise SchemaProblem(f"the enum {name!r} is not in the schema or its references")
        return found

    def is_entry(self, name: str) -> bool:
        """Whether the message is the entry of a map."""
        found = self._descriptors.messages.get(name)
        return found is not None and found.is_entry

    def _message(self, data: bytes) -> tuple[str, int]:
        """Return the name of a payload's message and where the message begins.  Raises: NotOfSchema."""
        count, at = read_varint(data, 0)
        indexes = [0]
        if count:
            if zigzag(count) not in range(1, DEPTH_MAX):
                raise NotOfSchema(f"the message is {zigzag(count)} levels deep")
            indexes = []
            for _ in range(zigzag(count)):
                index, at = read_varint(data, at)
                indexes.append(zigzag(index))
        names, name = self._outermost, ""
        for index in indexes:
            if not 0 <= index < len(names):
                raise NotOfSchema(f"there is no message {index} of {len(names)}")
            name = names[index]
            names = self._descriptors.messages[name].nested
        return name, at


class _MessageReader:
    """The reader of one message."""

    def __init__(self, message: MessageSchema, reader: ProtobufReader) -> None:
        self._fields = {field.number: field for field in message.fields}
        self._reader = reader
        self._shape = well_known.SHAPES.get(message.name)
        self._absent = {
            field.name: {}
            if reader.is_entry(field.type_name)
            else []
            if field.repeated
            else self._default(field)
            for field in message.fields
            if field.repeated or not field.has_presence
        }

    def _default(self, field: FieldSchema) -> Any:
        if field.kind == ENUM:
            return self._reader.enum(field.type_name).get(0, 0)
        if field.kind not in _SCALARS:
            raise SchemaProblem(f"the field {field.name!r} has the type {field.kind}, which is not read")
        return _SCALARS[field.kind][2]

    def read(self, data: bytes, budget: Budget, depth: int) -> Any:
        """Return a message as JSON has it.  Raises: NotOfSchema, SchemaProblem."""
        if depth > DEPTH_MAX:
            raise NotOfSchema(f"messages are nested deeper than {DEPTH_MAX}")
        budget.spend(1 + len(self._absent))
        raw: dict[int, list[tuple[int, int | bytes]]] = {}
        for number, kind, value in read_fields(data):
            budget.spend(1)
            raw.setdefault(number, []).append((kind, value))
        found: dict[str, Any] = {
            name: value.copy() if isinstance(value, list | dict) else value
            for name, value in self._absent.items()
        }
        for number, values in raw.items():
            field = self._fields.get(number)
            if field is not None:
                self._take(found, field, values, budget, depth)
        return found if self._shape is None else self._shape(found)

    def _take(
        self,
        found: dict[str, Any],
        field: FieldSchema,
        values: list[tuple[int, int | bytes]],
        budget: Budget,
        depth: int,
    ) -> None:
        if field.kind == MESSAGE:
            self._take_messages(
                found, field, [value for kind, value in values if kind == BYTES], budget, depth
            )
            return
        wanted, convert = self._scalar(field)
        plain: list[Any] = []
        for kind, value in values:
            if kind == wanted:
                plain.append(value)
            elif field.repeated and kind == BYTES:
                assert isinstance(value, bytes)
                plain += read_packed(value, wanted)
        budget.spend(len(plain))
        if field.repeated:
            found[field.name] = [convert(value) for value in plain]
        elif plain:
            found[field.name] = convert(plain[-1])

    def _scalar(self, field: FieldSchema) -> tuple[int, Convert]:
        if field.kind == ENUM:
            names = self._reader.enum(field.type_name)
            return VARINT, lambda raw: names.get(number := signed(raw, 32), number)
        if field.kind not in _SCALARS:
            raise SchemaProblem(f"the field {field.name!r} has the type {field.kind}, which is not read")
        return _SCALARS[field.kind][:2]

    def _take_messages(
        self, found: dict[str, Any], field: FieldSchema, values: list[Any], budget: Budget, depth: int
    ) -> None:
        reader = self._reader.reader(field.type_name)
        if self._reader.is_entry(field.type_name):
            entries = [reader.read(value, budget, depth + 1) for value in values]
            found[field.name] = {_key(entry.get("key", "")): reader.value_of(entry) for entry in entries}
        elif field.repeated:
            found[field.name] = [reader.read(value, budget, depth + 1) for value in values]
        elif values:
            # Parts of one message are merged, which joining their bytes does.
            found[field.name] = reader.read(b"".join(values), budget, depth + 1)

    def value_of(self, entry: dict[str, Any]) -> Any:
        """Return the value of a map's entry; absent, it is that of an empty one."""
        if "value" in entry:
            return entry["value"]
        field = self._fields[2]
        if field.kind == MESSAGE:
            return self._reader.reader(field.type_name).read(b"", Budget(0), 0)
        return self._default(field)


def _key(key: Any) -> str:
    """Return the key of a map as JSON has it."""
    return str(key).lower() if isinstance(key, bool) else str(key)
