"""Keys and values of records as text: never parsed into numbers, so that nothing is rounded or left out."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from console.web.text import Shown, shown_bytes

PRETTY_BYTES_MAX: Final = 64 << 10
SHOWN_BYTES_MAX: Final = 256 << 10
"""Bytes of a value that its page shows; the rest is in the file that can be downloaded."""
INDENT: Final = "  "
_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+')


class Text(NamedTuple):
    """A key or value for people."""

    text: Shown
    form: str
    """json, text, binary or null."""
    size: int
    cut: bool
    """Whether only the beginning is shown."""


def value_text(data: bytes | None) -> Text:
    """Return a value as its page shows it."""
    if data is None:
        return Text(Shown("null"), "null", -1, cut=False)
    part = bytes(data[:SHOWN_BYTES_MAX])
    cut = len(data) > len(part)
    try:
        text = part.decode()
    except UnicodeDecodeError as error:
        # The cut may go through a character.
        if not cut or error.start < len(part) - 3:
            return Text(shown_bytes(part), "binary", len(data), cut)
        text = part[: error.start].decode()
    pretty = None if cut or len(part) > PRETTY_BYTES_MAX else pretty_json(text)
    if pretty is not None:
        return Text(shown_bytes(pretty.encode()), "json", len(data), cut)
    return Text(shown_bytes(text.encode()), "text", len(data), cut)


def pretty_json(text: str) -> str | None:
    """Return an object or a list with a member on each line; None for what is neither.

    The tokens are those of the text: digits, escapes and members that come twice stay as they are.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    out: list[str] = []
    depth, fresh = 0, True
    for piece in _PIECE.findall(text):
        if piece in "}]":
            depth -= 1
            out.append(piece if fresh else f"\n{INDENT * depth}{piece}")
            fresh = False
            continue
        if fresh and depth:
            out.append("\n" + INDENT * depth)
        fresh = False
        if piece in "{[":
            depth += 1
            fresh = True
        out.append({",": f",\n{INDENT * depth}", ":": ": "}.get(piece, piece))
    return "".join(out)
