"""Filters by record headers, as share groups have them (`kawal.share.filter`).

    filter := term ("," term)*                       a record is chosen if all terms are true of it
    term   := name | "!" name                        it has such a header, or none
            | name "=" value ("|" value)*            one of its headers of that name has one of the values
            | name "!=" value ("|" value)*           none of them has
    name, value := text without "," "|" "=" "!", except after a backslash

Blanks around names and values do not count. Names and values are compared as bytes in UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

TERMS_MAX: Final = 32
"""The most terms of a filter, each of which every record is looked at for."""

_SPECIAL: Final = ",|=!"

Headers = Iterable[tuple[str, bytes | None]]


class FilterError(ValueError):
    """A filter that cannot be read; the sentence has the position, counted from 1."""


class Term(NamedTuple):
    """One condition: with values, that a header has one of them; without, that there is one."""

    name: str
    values: frozenset[bytes]
    is_negative: bool

    def holds(self, headers: Headers) -> bool:
        """Whether the term is true of a record with these headers."""
        found = any(
            name == self.name and (not self.values or (value or b"") in self.values)
            for name, value in headers
        )
        return found != self.is_negative


class HeaderFilter(NamedTuple):
    """A filter that has been read."""

    terms: tuple[Term, ...]

    def chooses(self, headers: Headers) -> bool:
        """Whether a record with these headers is chosen."""
        return all(term.holds(headers) for term in self.terms)


def parse_filter(text: str) -> HeaderFilter:
    """Read a filter.  Raises: FilterError."""
    reader = _Reader(text)
    terms = [reader.term()]
    while reader.take(","):
        terms.append(reader.term())
    if not reader.is_done:
        raise reader.error("',' or the end of the filter")
    if len(terms) > TERMS_MAX:
        raise FilterError(f"{len(terms)} terms; {TERMS_MAX} are the most")
    return HeaderFilter(tuple(terms))


class _Reader:
    """The text of a filter, and how far it has been read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    @property
    def is_done(self) -> bool:
        self._skip_blanks()
        return self._position >= len(self._text)

    def take(self, sign: str) -> bool:
        """Read a sign, if it comes next."""
        self._skip_blanks()
        found = self._text.startswith(sign, self._position)
        if found:
            self._position += len(sign)
        return found

    def error(self, wanted: str) -> FilterError:
        found = repr(self._text[self._position]) if self._position < len(self._text) else "its end"
        return FilterError(f"position {self._position + 1}: {wanted} is expected, not {found}")

    def term(self) -> Term:
        if self.take("!"):
            return Term(self._word("the name of a header"), frozenset(), is_negative=True)
        name = self._word("the name of a header")
        if self.take("!="):
            return Term(name, frozenset(self._values()), is_negative=True)
        if self.take("="):
            return Term(name, frozenset(self._values()), is_negative=False)
        return Term(name, frozenset(), is_negative=False)

    def _values(self) -> Iterator[bytes]:
        yield self._word("a value").encode()
        while self.take("|"):
            yield self._word("a value").encode()

    def _word(self, wanted: str) -> str:
        self._skip_blanks()
        found: list[str] = []
        blanks = 0
        while self._position < len(self._text) and self._text[self._position] not in _SPECIAL:
            char = self._text[self._position]
            if char == "\\":
                self._position += 1
                if self._position >= len(self._text):
                    raise self.error("a character after the backslash")
                char = self._text[self._position]
                blanks = 0
            else:
                blanks = blanks + 1 if char.isspace() else 0
            found.append(char)
            self._position += 1
        word = "".join(found[: len(found) - blanks])
        if not word:
            raise self.error(wanted)
        return word

    def _skip_blanks(self) -> None:
        while self._position < len(self._text) and self._text[self._position].isspace():
            self._position += 1
