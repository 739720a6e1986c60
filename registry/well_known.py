"""Protobuf's well-known types, which no registry holds: their fields, and the JSON that stands for each.

Source: google/protobuf/{timestamp,duration,wrappers,struct,any,empty,field_mask}.proto; ProtoJSON.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from registry.descriptors import MESSAGE, FieldSchema, MessageSchema
from registry.errors import NotOfSchema

_PACKAGE: Final = "google.protobuf."
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DURATION_SECONDS_MAX: Final = 315_576_000_000
_BILLION: Final = 1_000_000_000

_WRAPPED: Final = {
    "Double": 1, "Float": 2, "Int64": 3, "UInt64": 4, "Int32": 5,
    "Bool": 8, "String": 9, "Bytes": 12, "UInt32": 13,
}  # fmt: skip


def _field(
    number: int, name: str, kind: int, of: str = "", *, repeated: bool = False, presence: bool = False
) -> FieldSchema:
    return FieldSchema(number, name, kind, of and _PACKAGE + of, repeated, presence or kind == MESSAGE)


def _message(name: str, *fields: FieldSchema) -> MessageSchema:
    return MessageSchema(_PACKAGE + name, fields, (), False)


_TABLE: Final = (
    *(_message(f"{name}Value", _field(1, "value", kind)) for name, kind in _WRAPPED.items()),
    _message("Timestamp", _field(1, "seconds", 3), _field(2, "nanos", 5)),
    _message("Duration", _field(1, "seconds", 3), _field(2, "nanos", 5)),
    _message("Empty"),
    _message("FieldMask", _field(1, "paths", 9, repeated=True)),
    _message("Any", _field(1, "type_url", 9), _field(2, "value", 12)),
    _message("ListValue", _field(1, "values", MESSAGE, "Value", repeated=True)),
    _message("Struct", _field(1, "fields", MESSAGE, "Struct.FieldsEntry", repeated=True)),
    _message("Struct.FieldsEntry", _field(1, "key", 9), _field(2, "value", MESSAGE, "Value")),
    _message(
        "Value",
        _field(1, "null", 5, presence=True),
        _field(2, "number", 1, presence=True),
        _field(3, "string", 9, presence=True),
        _field(4, "bool", 8, presence=True),
        _field(5, "struct", MESSAGE, "Struct"),
        _field(6, "list", MESSAGE, "ListValue"),
    ),
)

MESSAGES: Final = {message.name: message for message in _TABLE}
"""By full name."""

ENUMS: Final[dict[str, dict[int, Any]]] = {f"{_PACKAGE}NullValue": {0: None}}
"""The JSON of their numbers, by full name."""


def _timestamp(found: dict[str, Any]) -> str:
    seconds, nanos = found["seconds"], found["nanos"]
    if not 0 <= nanos < _BILLION:
        raise NotOfSchema(f"a timestamp has {nanos} nanoseconds")
    try:
        text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    except OverflowError:
        raise NotOfSchema(f"a timestamp of {seconds} seconds is after the year 9999 or before 1") from None
    return f"{text.zfill(19)}{_fraction(nanos)}Z"


def _duration(found: dict[str, Any]) -> str:
    seconds, nanos = found["seconds"], found["nanos"]
    if abs(seconds) > _DURATION_SECONDS_MAX or abs(nanos) >= _BILLION or seconds * nanos < 0:
        raise NotOfSchema(f"a duration has {seconds} seconds and {nanos} nanoseconds")
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"


def _fraction(nanos: int) -> str:
    """Return 0, 3, 6 or 9 digits, as many as are needed."""
    if not nanos:
        return ""
    digits = f"{nanos:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}"


def _value(found: dict[str, Any]) -> Any:
    """Return the one member of a Value; of several, the one that was written last."""
    name, value = next(reversed(found.items()), ("null", None))
    return None if name == "null" else value


SHAPES: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    **{f"{_PACKAGE}{name}Value": lambda found: found["value"] for name in _WRAPPED},
    f"{_PACKAGE}Timestamp": _timestamp,
    f"{_PACKAGE}Duration": _duration,
    f"{_PACKAGE}FieldMask": lambda found: ",".join(found["paths"]),
    f"{_PACKAGE}ListValue": lambda found: found["values"],
    f"{_PACKAGE}Struct": lambda found: {entry["key"]: entry.get("value") for entry in found["fields"]},
    f"{_PACKAGE}Value": _value,
}
"""What stands for a message in JSON, made of its fields."""
