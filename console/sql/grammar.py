"""The forms of statements: each is found by its first words, and has an example for those who miss it.

Keywords may be written in small letters.  A name that is not a word, with points and hyphens, is put in
back-quotes; `database.name` names a thing with its database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final, NamedTuple

from console.errors import UsageError
from console.sql.results import Result
from console.sql.session import Session

_PART: Final = r"(?:`[^`]+`|[\w.-]+)"
META: Final = r"(?:(?:WITH|ONLY)\s+META\s+)?"
SHOWN_MAX: Final = 80
"""The characters of a statement that an error repeats."""

Parts = dict[str, str | None]
"""The parts of a statement by name; None where it has none."""

Run = Callable[[Session, Parts], Result]


def name(group: str = "name") -> str:
    """Return the pattern of a name, in this group."""
    return rf"(?P<{group}>{_PART}(?:\s*\.\s*{_PART})*)"


def plain_name(text: str | None) -> str:
    """Return a name as it was matched, without its back-quotes; "" for None."""
    return re.sub(r"\s*\.\s*", ".", text or "").replace("`", "")


class Form(NamedTuple):
    """One form of statements: the words that lead to it, its pattern, the function that runs it."""

    verb: str
    """The first words, for the form that was probably meant."""
    pattern: re.Pattern[str]
    run: Run
    example: str


def form(verb: str, pattern: str, run: Run, example: str) -> Form:
    """Return the form of statements that match the whole pattern, in which a blank stands for any number."""
    text = pattern.replace(" ", r"\s+")
    return Form(verb, re.compile(rf"{text}\s*", re.IGNORECASE | re.DOTALL), run, example)


def find(forms: Sequence[Form], text: str) -> tuple[Form, Parts]:
    """Return the form of a statement and its parts.

    Raises: UsageError with an example of what was probably meant.
    """
    for known in forms:
        match = known.pattern.fullmatch(text)
        if match is not None:
            return known, match.groupdict()
    raise UsageError(_explained(forms, text))


def _explained(forms: Sequence[Form], text: str) -> str:
    words = text.upper().split()
    if not words:
        return 'the statement is empty; try "SHOW TOPICS"'
    best = max(forms, key=lambda known: _likeness(known.verb.split(), words))
    if best.verb.split()[0] == words[0]:
        return f"{text[:SHOWN_MAX]!r} is not a statement; write it like {best.example!r}"
    verbs = ", ".join(dict.fromkeys(known.verb.split()[0] for known in forms))
    return f"statements begin with {verbs}; not with {text.split(maxsplit=1)[0][:SHOWN_MAX]!r}"


def _likeness(verb: list[str], words: list[str]) -> tuple[int, float]:
    """Return how many first words a verb and a statement share, and how alike the next ones are."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(verb, words, strict=False)))
    rest = slice(shared, shared + 1)
    return shared, SequenceMatcher(None, "".join(verb[rest]), "".join(words[rest])).ratio()
