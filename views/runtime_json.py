"""JSON values while a record is evaluated: their bytes in the record, opened one level at a time."""

from __future__ import annotations

from typing import Any, Final

import msgspec

NULL_TEXT: Final = b"null"
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode = msgspec.json.decode


def member(value: bytes, name: str) -> bytes | None:
    """Return the member `name` of an object; None if it is not an object or the member is missing or null."""
    found = _opened(value).get(name)
    return None if found is None or (content := bytes(found)) == NULL_TEXT else content


def has_member(value: bytes, name: str) -> bool:
    """Return whether an object has the member `name`, whatever its value."""
    return name in _opened(value)


def scalar(value: bytes) -> Any:
    """Return a JSON string, number or boolean as Python has it; None for null, objects and arrays."""
    return None if value[:1] in (b"{", b"[") else _decode(value)


def text(value: bytes) -> str:
    """Return the content of a JSON string, and the JSON text of anything else."""
    return str(_decode(value)) if value[:1] == b'"' else value.decode()


def _opened(value: bytes) -> dict[str, msgspec.Raw]:
    return _members(value) if value[:1] == b"{" else {}
