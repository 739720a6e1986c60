"""Members of JSON values as the columns of a table: the text that is in the record, never a parsed number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from protocol.record_reader import Record
from views.tags import HEADER_PREFIX

CELL_CHARS: Final = 200
CELLS_BYTES_MAX: Final = 1 << 20
"""Larger values are not taken apart."""
COLUMNS_MAX: Final = 20
"""Columns of a table beside key and value; more can be chosen by name."""
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_INTEGER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)")

Cell = bytes | None
"""The JSON text of a member; None where there is none."""


def cells_of(record: Record, names: Sequence[str]) -> tuple[Cell, ...]:
    """Return the members of these names, or the tags in headers; all None for what is no object."""
    if not names:
        return ()
    value = record.value or b""
    try:
        members = _members(value) if len(value) <= CELLS_BYTES_MAX else {}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        members = {}
    return tuple(_cell(record, members.get(name), name) for name in names)


def _cell(record: Record, raw: msgspec.Raw | None, name: str) -> Cell:
    if raw is not None:
        return bytes(raw)
    for header, value in reversed(record.headers):
        if header == HEADER_PREFIX + name and value is not None:
            return msgspec.json.encode(value.decode("utf-8", "backslashreplace"))
    return None


def cell_text(cell: Cell) -> str:
    """Return a cell for people: strings without quotes, everything else as it is written, cut."""
    if cell is None:
        return ""
    found = exact(cell)
    text = found if isinstance(found, str) else cell.decode("utf-8", "backslashreplace")
    return text if len(text) <= CELL_CHARS else text[: CELL_CHARS - 1] + "…"


def exact(cell: Cell) -> Any:
    """Return a cell for programs: strings, whole numbers, booleans and null; other JSON stays text."""
    if cell is None:
        return None
    if cell[:1] == b'"':
        try:
            return msgspec.json.decode(cell, type=str)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return cell.decode("utf-8", "backslashreplace")
    if _INTEGER.fullmatch(cell) and len(cell) < 4000:
        return int(cell)
    return {b"true": True, b"false": False, b"null": None}.get(cell, cell.decode("utf-8", "backslashreplace"))
