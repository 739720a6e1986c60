"""The declared columns of a topic whose values are JSON objects: the text of `kawal.columns`.

    columns := column ("," column)*
    column  := name type ["tag"]        name := word | "`" any text "`"

For example `ts timestamp, current double, voltage int, location string tag`.  A column is the member of that
name in each record's JSON object; a tag belongs to the record's key (`tags.TagTable`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from views.column_types import TYPE_NAMES, Type, length_hint, parse_type
from views.errors import ColumnsProblem

TEXT_LENGTH_MAX: Final = 64 << 10
# TDengine allows 4,096 columns in a table.
COUNT_MAX: Final = 4_096
NAME_LENGTH_MAX: Final = 256

_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s+", re.UNICODE)
# Characters that JSON writes with a backslash; msgspec takes no member names with them.
_UNREADABLE = re.compile(r'["\\\x00-\x1f]')
_WORD = re.compile(r"\w+")
# Names that every record has: a column of such a name could never be reached.
RESERVED: Final = frozenset({"_rowts", "_offset", "_key", "_partition", "tbname"})


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column: its name is the JSON member's, byte for byte."""

    name: str
    type: Type
    is_tag: bool = False

    def __str__(self) -> str:
        name = self.name if _WORD.fullmatch(self.name) else "`" + self.name.replace("`", "``") + "`"
        return f"{name} {self.type}{' tag' if self.is_tag else ''}"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a topic in the order of their declaration; names are unique."""

    declared: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.declared)

    def __str__(self) -> str:
        """Return the text that `parse_columns` reads back."""
        return ", ".join(map(str, self.declared))

    def find(self, name: str) -> Column | None:
        """Return the column called `name`, or the only one whose name differs just in case."""
        for column in self.declared:
            if column.name == name:
                return column
        alike = [column for column in self.declared if column.name.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else None

    @property
    def names(self) -> list[str]:
        """All names, for messages."""
        return [column.name for column in self.declared]


def is_unicode(text: str) -> bool:
    """Return whether `text` can be written as UTF-8: halves of surrogate pairs cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_columns(text: str) -> Columns:
    """Read the text of `kawal.columns`.

    Raises: ColumnsProblem, which names the column and what is wrong with it.
    """
    if len(text) > TEXT_LENGTH_MAX:
        raise ColumnsProblem(
            f"kawal.columns has {len(text)} characters; at most {TEXT_LENGTH_MAX} are allowed"
        )
    if not text.strip():
        raise ColumnsProblem("kawal.columns is empty; declare columns like 'ts timestamp, current double'")
    columns: list[Column] = []
    seen: set[str] = set()
    for number, part in enumerate(_parts(text), 1):
        column = _column(number, part)
        if column.name in seen:
            raise ColumnsProblem(f"column {column.name!r} is declared twice")
        if len(columns) == COUNT_MAX:
            raise ColumnsProblem(f"more than {COUNT_MAX} columns are declared")
        seen.add(column.name)
        columns.append(column)
    return Columns(tuple(columns))


def tags_in(text: str) -> tuple[Column, ...]:
    """Return the tags among the columns of a text, which may be empty.

    Raises: ColumnsProblem.
    """
    return tuple(column for column in parse_columns(text) if column.is_tag) if text else ()


def _parts(text: str) -> Iterator[str]:
    """Yield the parts between commas outside back-quotes and parentheses."""
    depth, quoted, start = 0, False, 0
    for position, character in enumerate(text):
        if character == "`":
            quoted = not quoted
        elif quoted:
            continue
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "," and depth == 0:
            yield text[start:position]
            start = position + 1
    if quoted:
        raise ColumnsProblem(f"a back-quote is not closed in {_shown(text[start:])!r}")
    yield text[start:]


def _column(number: int, part: str) -> Column:
    if not part.strip():
        raise ColumnsProblem(f"column {number} is empty: two commas follow each other, or one is at the end")
    match = _NAME.match(part)
    if match is None:
        raise ColumnsProblem(
            f"column {number}, {_shown(part)!r}, is not a name and a type like 'voltage int'; "
            "names with characters other than letters, digits and _ must be in back-quotes"
        )
    quoted, word = match.groups()
    name = word if quoted is None else quoted.replace("``", "`")
    rest, is_tag = part[match.end() :].strip(), False
    if rest.lower().endswith((" tag", ")tag")):
        rest, is_tag = rest[:-3].strip(), True
    if len(name) > NAME_LENGTH_MAX:
        raise ColumnsProblem(f"the name of column {number} is longer than {NAME_LENGTH_MAX} characters")
    if _UNREADABLE.search(name) or not is_unicode(name):
        raise ColumnsProblem(
            f"the name of column {number}, {_shown(name)!r}, "
            "has a double quote, a backslash or a control character"
        )
    if name.lower() in RESERVED:
        raise ColumnsProblem(f"column {name!r}: every record has a column of this name already")
    if (kind := parse_type(rest)) is None and (hint := length_hint(rest)):
        raise ColumnsProblem(f"column {name!r}: type {_shown(rest)!r} {hint}")
    if kind is None:
        raise ColumnsProblem(f"column {name!r} has the unknown type {_shown(rest)!r}; known are {TYPE_NAMES}")
    return Column(name, kind, is_tag)


def _shown(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 60 else text[:57] + "..."
