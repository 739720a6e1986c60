"""Functions of text, as evaluators call them: arguments are never None; what has no answer is None.

Positions count characters from 1, as in SQL.  No function makes a text longer than `TEXT_LENGTH_MAX`
characters out of shorter ones: a few nested calls could otherwise fill the memory.
"""

from __future__ import annotations

from typing import Final

TEXT_LENGTH_MAX: Final = 65_536
# A list of all parts of a long text could take a hundred times its memory.
PARTS_MAX: Final = 10_000
_BLANK: Final = " "


def _bounded(text: str) -> str | None:
    return text if len(text) <= TEXT_LENGTH_MAX else None


def length_bytes(text: str) -> int:
    """Return the length in bytes of UTF-8, as TDengine's LENGTH."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def concat(*texts: str) -> str | None:
    """Join texts."""
    return _bounded("".join(texts))


def concat_with(separator: str | None, *texts: str | None) -> str | None:
    """Join texts with a separator between them; those that are NULL are left out."""
    return (
        None if separator is None else _bounded(separator.join([text for text in texts if text is not None]))
    )


def substring(text: str, start: int, length: int | None = None) -> str:
    """Return the part from `start`, negative counting from the end; nothing for 0, as in MySQL."""
    first = start - 1 if start > 0 else len(text) + start
    if start == 0 or first < 0 or (length is not None and length <= 0):
        return ""
    return text[first:] if length is None else text[first : first + length]


def left(text: str, length: int) -> str:
    """Return the first `length` characters."""
    return text[: max(0, length)]


def right(text: str, length: int) -> str:
    """Return the last `length` characters."""
    return text[-length:] if length > 0 else ""


def trim(text: str, characters: str = _BLANK) -> str:
    """Cut off `characters` at both ends."""
    return text.strip(characters) if characters else text


def trim_left(text: str, characters: str = _BLANK) -> str:
    """Cut off `characters` at the start."""
    return text.lstrip(characters) if characters else text


def trim_right(text: str, characters: str = _BLANK) -> str:
    """Cut off `characters` at the end."""
    return text.rstrip(characters) if characters else text


def replace(text: str, old: str, new: str) -> str | None:
    """Replace `old` by `new`; an empty `old` is never found."""
    if not old:
        return text
    if len(new) > len(old) and len(text) + text.count(old) * (len(new) - len(old)) > TEXT_LENGTH_MAX:
        return None
    return text.replace(old, new)


def repeat(text: str, count: int) -> str | None:
    """Return `text` `count` times."""
    return (
        text * count
        if 0 < count <= TEXT_LENGTH_MAX and len(text) * count <= TEXT_LENGTH_MAX
        else _edge(count)
    )


def _edge(count: int) -> str | None:
    return "" if count <= 0 else None


def reverse(text: str) -> str:
    """Return the characters backwards."""
    return text[::-1]


def pad_left(text: str, length: int, padding: str = _BLANK) -> str | None:
    """Cut or pad `text` at its start to `length` characters."""
    if length <= len(text):
        return text[:length] if length >= 0 else None
    if not padding or length > TEXT_LENGTH_MAX:
        return None
    missing = length - len(text)
    return (padding * (missing // len(padding) + 1))[:missing] + text


def pad_right(text: str, length: int, padding: str = _BLANK) -> str | None:
    """Cut or pad `text` at its end to `length` characters."""
    if length <= len(text):
        return text[:length] if length >= 0 else None
    if not padding or length > TEXT_LENGTH_MAX:
        return None
    missing = length - len(text)
    return text + (padding * (missing // len(padding) + 1))[:missing]


def position(part: str, text: str) -> int:
    """Return the first position of `part` in `text`, 0 if there is none."""
    return text.find(part) + 1


def position_in(text: str, part: str) -> int:
    """Return the first position of `part` in `text`: INSTR, with the arguments the other way round."""
    return text.find(part) + 1


def code_of_first(text: str) -> int:
    """Return the Unicode number of the first character, 0 for no text."""
    return ord(text[0]) if text else 0


def character(code: int) -> str | None:
    """Return the character of a Unicode number."""
    return chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else None


def part_before(text: str, separator: str, count: int) -> str | None:
    """Return the text before the `count`-th separator, or after it counted from the end: SUBSTRING_INDEX."""
    if not separator or count == 0:
        return ""
    if abs(count) > PARTS_MAX:
        return None
    parts = text.split(separator, count) if count > 0 else text.rsplit(separator, -count)
    return separator.join(parts[:count] if count > 0 else parts[count:])


def split_part(text: str, separator: str, number: int) -> str | None:
    """Return the `number`-th part between separators, from 1 or from the end with -1; nothing beyond."""
    if abs(number) > PARTS_MAX:
        return None
    if not separator:
        return text if number in (1, -1) else ""
    if number > 0:
        parts = text.split(separator, number)
        return parts[number - 1] if number <= len(parts) else ""
    parts = text.rsplit(separator, -number)
    return parts[number] if number and -number <= len(parts) else ""
