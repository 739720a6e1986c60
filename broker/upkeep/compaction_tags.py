"""The records that carry a key's tags: compaction keeps them beside the key's last record.

A topic may declare tags (docs/views.md): a record that carries none has those that earlier records of its key
carried.  Were those removed, views would lose what belongs to the key. So of each key and tag the last record
that carries it stays, until a tombstone is the key's last record: then nothing of the key stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from protocol.errors import ProtocolError
from protocol.record_reader import read_headers, read_varint
from views.tags import HEADER_PREFIX

NULL: Final = b"null"


class TagReader:
    """Finds the tags that a record carries, by their numbers; a record that cannot be read carries none."""

    __slots__ = ("_decoder", "_fields", "_numbers")

    def __init__(self, names: Iterable[str]) -> None:
        """Make a reader of the tags of these names, in headers and in members of JSON objects."""
        names = tuple(names)
        self._numbers = {HEADER_PREFIX + name: number for number, name in enumerate(names)}
        self._fields = [f"tag{number}" for number in range(len(names))]
        self._decoder = msgspec.json.Decoder(
            msgspec.defstruct(
                "Tags",
                [(field, msgspec.Raw, msgspec.field(default=msgspec.Raw(NULL))) for field in self._fields],
                rename=dict(zip(self._fields, names, strict=True)),
            )
        )

    def carried(self, body: bytes, at: int, end: int) -> set[int]:
        """Return the numbers of the tags of the record whose value's length is at `at`."""
        found: set[int] = set()
        try:
            length, at = read_varint(body, at)
            if length >= 0:
                found.update(self._members(body[at : at + length]))
                at += length
            headers = read_headers(body, at)[0] if at < end and body[at] else ()
        except (ProtocolError, IndexError):
            return found
        found.update(self._numbers[name] for name, value in headers if value and name in self._numbers)
        return found

    def _members(self, value: bytes) -> Iterable[int]:
        try:
            tags: Any = self._decoder.decode(value)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return ()
        return (
            number for number, field in enumerate(self._fields) if bytes(getattr(tags, field)).strip() != NULL
        )


def tag_reader(columns_text: str) -> TagReader | None:
    """Return a reader of the tags among a topic's declared columns; None if there are none."""
    if not columns_text:
        return None
    from views.columns import parse_columns

    names = [column.name for column in parse_columns(columns_text) if column.is_tag]
    return TagReader(names) if names else None
