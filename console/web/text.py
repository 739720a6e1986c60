r"""Text of strangers as it is shown: what cannot be seen, or moves what can, becomes an escape.

`Shown` is text that has been through this; the templates pass everything else through `shown` by themselves.
Neither is HTML: Jinja2 escapes both.

    control characters             \n \t \x1b
    bidi and zero-width, others    \u200b \u202e \u{e0041}
    bytes that are not UTF-8       \xff
"""

from __future__ import annotations

import re
from typing import Any, Final

_RANGES: Final = (
    (0x00, 0x1F),
    (0x7F, 0xA0),  # with NO-BREAK SPACE
    (0xAD, 0xAD),  # SOFT HYPHEN
    (0x034F, 0x034F),  # COMBINING GRAPHEME JOINER
    (0x0600, 0x0605),
    (0x061C, 0x061C),  # ARABIC LETTER MARK
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),  # Hangul fillers
    (0x1680, 0x1680),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2000, 0x200F),  # spaces, zero-width, marks of direction
    (0x2028, 0x202F),  # separators, embeddings and overrides
    (0x205F, 0x206F),  # isolates, invisible operators
    (0x2800, 0x2800),  # BRAILLE PATTERN BLANK
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    (0xD800, 0xF8FF),  # surrogates, private use
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0x10FFFF),  # tags, variation selectors, private use
)
"""Unicode's Cc, Cf, Cs, Co, Zl and Zp, spaces other than the space, and letters that have no shape."""

_HIDDEN: Final = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _RANGES) + "]")
_HIDDEN_IN_LINES: Final = re.compile(_HIDDEN.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


class Shown(str):
    """Text in which nothing is hidden, or text that must stay as it is: the templates leave it alone."""

    __slots__ = ()


def shown(text: str) -> Shown:
    """Return text of one line with escapes for what is hidden in it."""
    return Shown(_HIDDEN.sub(_escape, text))


def shown_lines(text: str) -> Shown:
    """Return text that keeps its lines and tabs."""
    return Shown(_HIDDEN_IN_LINES.sub(_escape, text))


def shown_bytes(data: bytes) -> Shown:
    r"""Return bytes as text if they are UTF-8, else with escapes such as \xff for what is not ASCII text."""
    try:
        return shown_lines(data.decode())
    except UnicodeDecodeError:
        return shown_lines(data.decode("ascii", "backslashreplace"))


def in_template(value: Any) -> Any:
    """Return a value as a template writes it; the environment passes every expression through this."""
    if value is None:
        return ""
    if isinstance(value, Shown | int | float) or hasattr(value, "__html__"):
        return value
    return shown(str(value))


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\u{{{code:x}}}"
