"""Masks: parts of records that the console never shows, whatever is asked of it.

    TOPIC            key, value and headers
    TOPIC:key        the key
    TOPIC:value      the value
    TOPIC:headers    the headers
    TOPIC:column     the member of that name in JSON values, and the header `kawal.tag.column`

TOPIC may have `*` and `?` in it; a column in back-quotes is one even if it is called `key`.  Masks apply to a
record before anything else looks at it.  A view has the masks of its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

import msgspec

from console.errors import UsageError
from protocol.record_reader import Headers, Record
from views.tags import HEADER_PREFIX

HIDDEN: Final = b"(masked)"
_HIDDEN_JSON: Final = msgspec.Raw(b'"(masked)"')
_FORM: Final = re.compile(r"([A-Za-z0-9._*?-]{1,249})(?::(.+))?")
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_PARTS: Final = ("key", "value", "headers")


class Mask(NamedTuple):
    """A mask as the operator has written it."""

    topic: str
    """A pattern."""
    part: str = ""
    """key, value or headers; "" for all of them, or with a column."""
    column: str = ""


def parse_mask(text: str) -> Mask:
    """Read a mask.  Raises: UsageError."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"{text!r} is not a mask; write TOPIC, TOPIC:key, TOPIC:value, TOPIC:headers or TOPIC:COLUMN"
        )
    topic, part = found[1], found[2] or ""
    if part in _PARTS or not part:
        return Mask(topic, part)
    if len(part) > 2 and part[0] == part[-1] == "`":
        part = part[1:-1].replace("``", "`")
    return Mask(topic, "", part)


@dataclass(frozen=True, slots=True)
class TopicMask:
    """The parts of one topic's records that are masked."""

    key: bool = False
    value: bool = False
    headers: bool = False
    columns: frozenset[str] = frozenset()
    """Names in lower case: statements find columns in any case."""

    def __bool__(self) -> bool:
        return self.key or self.value or self.headers or bool(self.columns)

    def hides_column(self, name: str) -> bool:
        """Whether the member of this name is masked."""
        return self.value or name.casefold() in self.columns

    def hides_header(self, name: str) -> bool:
        """Whether the header of this name is masked."""
        return self.headers or (
            name.startswith(HEADER_PREFIX) and self.hides_column(name.removeprefix(HEADER_PREFIX))
        )

    def record(self, record: Record) -> Record:
        """Return a record in which what is masked is replaced."""
        if not self:
            return record
        key, value = record.key, record.value
        return Record(
            record.offset,
            record.timestamp_ms,
            HIDDEN if self.key and key is not None else key,
            value if value is None else self._value(value),
            self._headers(record.headers),
        )

    def _value(self, value: bytes) -> bytes:
        if self.value:
            return HIDDEN
        if not self.columns:
            return value
        try:
            members = _members(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return HIDDEN  # where its columns are is not known
        shown = {name: _HIDDEN_JSON if self.hides_column(name) else raw for name, raw in members.items()}
        return msgspec.json.encode(shown)

    def _headers(self, headers: Headers) -> Headers:
        if not self.headers and not self.columns and not self.value:
            return headers
        return tuple(
            (name, HIDDEN if value is not None and self.hides_header(name) else value)
            for name, value in headers
        )


NO_MASK: Final = TopicMask()
EVERYTHING: Final = TopicMask(key=True, value=True, headers=True)


class Masks:
    """The masks of all topics."""

    def __init__(self, masks: Iterable[Mask] = ()) -> None:
        self._masks = tuple(masks)

    def __bool__(self) -> bool:
        return bool(self._masks)

    def of(self, topic: str) -> TopicMask:
        """Return what is masked of a topic by its own name."""
        mine = [mask for mask in self._masks if fnmatchcase(topic, mask.topic)]
        if any(not mask.part and not mask.column for mask in mine):
            return EVERYTHING
        parts = {mask.part for mask in mine}
        columns = frozenset(mask.column.casefold() for mask in mine if mask.column)
        if not parts and not columns:
            return NO_MASK
        return TopicMask("key" in parts, "value" in parts, "headers" in parts, columns)


def joined_masks(one: TopicMask, other: TopicMask) -> TopicMask:
    """Return what either masks."""
    return TopicMask(
        one.key or other.key,
        one.value or other.value,
        one.headers or other.headers,
        one.columns | other.columns,
    )
