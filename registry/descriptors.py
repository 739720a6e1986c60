"""Protobuf's schemas as a registry gives them: serialised FileDescriptorProto.

Only what decoding needs is read; numbers are those of descriptor.proto.

Source: google/protobuf/descriptor.proto.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from registry.errors import NotOfSchema, SchemaProblem
from registry.wire import read_fields

REPEATED: Final = 3
MESSAGE, ENUM = 11, 14
_FIELDS_MAX: Final = 100_000
"""The most fields of one schema: a file of a megabyte may declare as many."""


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """A field of a message."""

    number: int
    name: str
    kind: int
    """FieldDescriptorProto.Type."""
    type_name: str
    """The full name of a message or an enum, without the leading point."""
    repeated: bool
    has_presence: bool
    """Whether absent is different from its default."""


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message; of a map's entry `is_entry` is true."""

    name: str
    fields: tuple[FieldSchema, ...]
    nested: tuple[str, ...]
    """The full names of the messages declared inside, in order."""
    is_entry: bool


@dataclass(slots=True)
class Descriptors:
    """The messages and enums of a schema and of those it refers to, by full name."""

    messages: dict[str, MessageSchema] = field(default_factory=dict)
    enums: dict[str, dict[int, str]] = field(default_factory=dict)

    def add(self, data: bytes) -> tuple[str, ...]:
        """Add a file; return the full names of its outermost messages.  Raises: SchemaProblem."""
        try:
            file = _parts(data)
            package = _text(file, 2)
            implicit = _text(file, 12) == "proto3"
            for enum in file[5]:
                self._add_enum(enum, package)
            return tuple(self._add_message(message, package, implicit) for message in file[4])
        except (NotOfSchema, UnicodeDecodeError, TypeError, RecursionError) as error:
            raise SchemaProblem(f"no FileDescriptorProto: {error}") from error

    def _add_message(self, data: bytes, scope: str, implicit: bool) -> str:
        message = _parts(data)
        name = _joined(scope, _text(message, 1))
        for enum in message[4]:
            self._add_enum(enum, name)
        nested = tuple(self._add_message(inner, name, implicit) for inner in message[3])
        fields = tuple(_field(part, implicit) for part in message[2])
        options = _parts(b"".join(message[7]))
        self.messages[name] = MessageSchema(name, fields, nested, bool(_number(options, 7)))
        if sum(len(known.fields) for known in self.messages.values()) > _FIELDS_MAX:
            raise SchemaProblem(f"more than {_FIELDS_MAX} fields are declared")
        return name

    def _add_enum(self, data: bytes, scope: str) -> None:
        enum = _parts(data)
        names: dict[int, str] = {}
        for value in map(_parts, enum[2]):
            # Of aliases the first counts.
            names.setdefault(_number(value, 2), _text(value, 1))
        self.enums[_joined(scope, _text(enum, 1))] = names


def _field(data: bytes, implicit: bool) -> FieldSchema:
    parts = _parts(data)
    repeated, kind = _number(parts, 4) == REPEATED, _number(parts, 5)
    has_presence = not implicit or kind == MESSAGE or 9 in parts or bool(_number(parts, 17))
    type_name = _text(parts, 6).removeprefix(".")
    return FieldSchema(_number(parts, 3), _text(parts, 1), kind, type_name, repeated, has_presence)


def _parts(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for number, _, value in read_fields(data):
        found[number].append(value)
    return found


def _text(parts: dict[int, list[Any]], number: int) -> str:
    found = parts.get(number)
    return str(found[-1], "utf-8") if found else ""


def _number(parts: dict[int, list[Any]], number: int) -> int:
    found = parts.get(number)
    return int(found[-1]) if found else 0


def _joined(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
