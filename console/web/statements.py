"""Statements of people, read by the views' own parser: what a search means, and where a mistake is.

A search is the WHERE of a view over its topic, and the columns that it shows; saved as a topic, it is that
view.  What was compiled is kept: the same search goes on page after page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from console.web.masked_plans import refuse_masked
from console.web.sources import Source, check_readable
from console.web.text import Shown, shown
from views.columns import Columns
from views.errors import ViewError
from views.evaluator import Evaluator, build_evaluator
from views.plan import plan_view
from views.statement import Statement, parse_view

LINE_SHOWN_MAX: Final = 160
"""Characters of the line at fault that are shown, around the place."""
_WORD: Final = re.compile(r"\w+")
_PLACE: Final = re.compile(r" at line (\d+), column (\d+)")
_LINE: Final = re.compile(r", line (\d+)\b")
_QUOTED: Final = re.compile(r"'([^']+)'")


class Mistake(NamedTuple):
    """A mistake in a text: the sentence, and the line with the place, if there is one."""

    sentence: str
    line: Shown = Shown("")
    before: Shown = Shown("")
    """As many characters as stand before the place."""


class Compiled(NamedTuple):
    """A statement that can be evaluated."""

    statement: Statement
    evaluator: Evaluator


def quoted(name: str) -> str:
    """Return a name as statements have it."""
    return name if _WORD.fullmatch(name) and not name[0].isdigit() else "`" + name.replace("`", "``") + "`"


def search_statement(topic: str, where: str, shown_columns: tuple[str, ...] = ()) -> str:
    """Return the view that a search is; the condition begins on a line of its own."""
    columns = ", ".join(map(quoted, shown_columns)) or "*"
    head = f"SELECT {columns} FROM `{topic}`"  # noqa: S608  (a view, read by our parser alone)
    return f"{head} WHERE\n{where}" if where.strip() else head


def compile_search(source: Source, where: str) -> Compiled | Mistake:
    """Compile the condition of a search; what is found stays as it is.

    Raises: PageError for a condition on what is masked, or on what only the server reads.
    """
    return compile_statement(source, search_statement(source.topic, where), first_line=2)


def compile_statement(source: Source, text: str, *, first_line: int = 1) -> Compiled | Mistake:
    """Compile a statement over a source.

    `first_line` is the line of `text` with which the person's own text begins.  Raises: PageError.
    """
    try:
        compiled = _compiled(text, source.columns, source.framed)
    except ViewError as error:
        return mistake_in(text, error.problem, first_line)
    refuse_masked(compiled.evaluator.plan, source.mask)
    check_readable(source, compiled.evaluator.plan)
    return compiled


@lru_cache(maxsize=64)
def _compiled(text: str, columns: Columns | None, framed: bool) -> Compiled:
    statement = parse_view(text)
    return Compiled(statement, build_evaluator(plan_view(statement, columns, framed=framed)))


def asks_history(compiled: Compiled) -> bool:
    """Whether tags are asked for, which a record may have from earlier ones: only the server knows those."""
    return "tags" in compiled.evaluator.plan.needs


def mistake_in(text: str, sentence: str, first_line: int = 1) -> Mistake:
    """Return a mistake with its place in the text, as far as the sentence tells it."""
    line, column = _place_of(text, sentence)

    def renumbered(found: re.Match[str]) -> str:
        return found[0].replace(found[1], str(max(1, int(found[1]) - first_line + 1)), 1)

    pattern = _PLACE if _PLACE.search(sentence) else _LINE
    said = pattern.sub(renumbered, sentence)
    lines = text.split("\n")
    if line is None or not first_line <= line <= len(lines):
        return Mistake(said)
    whole = lines[line - 1]
    start = max(0, column - LINE_SHOWN_MAX // 2)
    cut = shown(whole[start : start + LINE_SHOWN_MAX])
    return Mistake(said, cut, Shown(" " * len(shown(whole[start:column]))))


def _place_of(text: str, sentence: str) -> tuple[int | None, int]:
    """Return the line, from 1, and the column, from 0, that a sentence is about."""
    if found := _PLACE.search(sentence):
        return int(found[1]), max(0, int(found[2]) - 1)
    for quote in _QUOTED.findall(sentence):
        # The last one: the condition comes after the names of topics and columns.
        places = list(re.finditer(rf"(?<!\w){re.escape(quote)}(?!\w)", text, re.IGNORECASE))
        if places:
            at = places[-1].start()
            return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1)
    if found := _LINE.search(sentence):
        return int(found[1]), 0
    return None, 0


def named_columns(text: str) -> tuple[str, ...]:
    """Return the names of a list such as `carrier, delay`; names with commas are in back-quotes."""
    names: dict[str, None] = {}
    # What lies between two back-quotes has an odd place.
    parts = text.split("`")
    name = ""
    for at, part in enumerate(parts):
        if at % 2:
            name += part
            continue
        if at and not part and at + 1 < len(parts):
            name += "`"  # two of them, one after the other, stand for one
            continue
        first, *others = part.split(",")
        name += first.strip()
        for other in others:
            names[name] = None
            name = other.strip()
    names[name] = None
    names.pop("", None)
    return tuple(names)
