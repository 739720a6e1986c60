"""The fields of a query or of a form, and the paths that carry names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from console.web.errors import PageError

FIELDS_MAX: Final = 1000


class Fields:
    """Fields by name; a name may come more than once."""

    __slots__ = ("_pairs",)

    def __init__(self, text: str = "") -> None:
        """Read `a=1&b=2`.  Raises: PageError when there are too many."""
        try:
            self._pairs = parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=FIELDS_MAX)
        except ValueError as error:
            raise PageError(400, f"the query or form cannot be read: {error}") from error

    def one(self, name: str, default: str = "") -> str:
        """Return the last value of a field."""
        return next((value for key, value in reversed(self._pairs) if key == name), default)

    def many(self, name: str) -> list[str]:
        """Return all values of a field, in their order."""
        return [value for key, value in self._pairs if key == name]

    def number(self, name: str, default: int, *, low: int, high: int) -> int:
        """Return a field that is a whole number.  Raises: PageError."""
        text = self.one(name).strip()
        if not text:
            return default
        if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit() or len(text) > 20:
            raise PageError(400, f"{name} is {text[:40]!r}; it must be a whole number")
        if not low <= int(text) <= high:
            raise PageError(400, f"{name} is {text}; it must be between {low} and {high}")
        return int(text)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return a field that is one of these words, the first of them without it.  Raises: PageError."""
        text = self.one(name) or choices[0]
        if text not in choices:
            raise PageError(400, f"{name} is {text[:40]!r}; it must be one of {', '.join(choices)}")
        return text

    def changed(self, changes: Mapping[str, str | int | None]) -> str:
        """Return the fields as a query, with some replaced; None leaves a field out."""
        kept = [(key, value) for key, value in self._pairs if key not in changes]
        new = [(key, str(value)) for key, value in changes.items() if value is not None]
        return urlencode([*kept, *new])


def segment(name: object) -> str:
    """Return a name as one segment of a path, whatever it holds.

    Browsers would take `.` and `..` for directions, and an empty segment for none: these get a `~` before
    them, and so does a name that begins with one.
    """
    text = str(name)
    mark = "~" if text in ("", ".", "..") or text.startswith("~") else ""
    return mark + quote(text, safe="", errors="replace")


def name_of(text: str) -> str:
    """Return the name that a segment stands for."""
    return unquote(text, errors="replace").removeprefix("~")


def path_to(*names: object) -> str:
    """Return the path of these segments: path_to("topics", topic) is /topics/a%2Fb."""
    return "/" + "/".join(map(segment, names))


def with_query(path: str, **fields: str | int | None) -> str:
    """Return a path with a query; fields that are None are left out, and `from_` is `from`."""
    kept = [(name.rstrip("_"), str(value)) for name, value in fields.items() if value is not None]
    return f"{path}?{urlencode(kept)}" if kept else path
