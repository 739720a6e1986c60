"""A text with several statements, cut at the semicolons that are outside quotes and comments.

    script    := statement (";" statement)* [";"]
    comment   := "--" to the end of the line | "/*" to "*/"

A comment counts as a blank.  Quotes are doubled inside quotes, and a backslash is an ordinary character.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PIECE: Final = re.compile(
    r"""(?P<quoted>'[^']*'|"[^"]*"|`[^`]*`)|(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<end>;)"""
    r"""|(?P<open>['"`]|/\*)""",
    re.DOTALL,
)


class Written(NamedTuple):
    """One statement as it was written, without comments, and the line on which it begins."""

    text: str
    line: int


def statements(text: str) -> list[Written]:
    """Return the statements of a text; what is not closed belongs to the last one."""
    return _cut(text)[0]


def is_complete(text: str) -> bool:
    """Return whether the last statement of a text has its semicolon, or there is none."""
    return _cut(text)[1]


def without_comments(text: str) -> str:
    """Return the text with a blank for each comment."""
    return _PIECE.sub(lambda found: " " if found["comment"] else found[0], text)


def _cut(text: str) -> tuple[list[Written], bool]:
    """Return the statements, and whether nothing follows the last semicolon."""
    found: list[Written] = []
    start = at = 0
    while (piece := _PIECE.search(text, at)) is not None:
        at = piece.end()
        if piece["open"]:
            break
        if piece["end"]:
            _add(found, text, start, piece.start())
            start = at
    _add(found, text, start, len(text))
    return found, not without_comments(text[start:]).strip()


def _add(found: list[Written], text: str, start: int, end: int) -> None:
    """Add the statement between two positions, unless there is none."""
    plain = without_comments(text[start:end])
    if plain.strip():
        # A comment counts as one blank, so that the line is that of the first word of the statement.
        first = re.compile(r"(?:\s|--[^\n]*|/\*.*?\*/)*", re.DOTALL).match(text, start, end)
        begins = first.end() if first is not None else start
        found.append(Written(plain.strip(), text.count("\n", 0, begins) + 1))
