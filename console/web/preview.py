"""Statements tried on the newest 10,000 records of their topic, by the views' evaluator."""

from __future__ import annotations

from typing import Final, NamedTuple

from console.errors import CommandError
from console.link import LinkLost
from console.web.looks import Look
from console.web.masked_plans import mask_of_view
from console.web.masks import Masks
from console.web.ranges import Asked, range_of
from console.web.search import Search, SearchFound
from console.web.search_bounds import Bounds
from console.web.sources import Source, source_of
from console.web.statements import Compiled, Mistake, asks_history, compile_statement, mistake_in
from views.errors import ViewError
from views.statement import Kind, Statement, parse_view

RECORDS: Final = 10_000
ROWS: Final = 20
SECONDS: Final = 2.0


class Preview(NamedTuple):
    """A statement as it was read, and what it would show; or its mistake."""

    mistake: Mistake | None = None
    statement: Statement | None = None
    source: Source | None = None
    found: SearchFound | None = None
    columns: tuple[str, ...] = ()
    unseen: str = ""
    """Why nothing is shown beforehand."""

    @property
    def topic(self) -> str:
        """The name in a whole CREATE TOPIC."""
        return "" if self.statement is None else self.statement.topic or ""

    @property
    def definition(self) -> str:
        """The view, without blanks and comments."""
        return "" if self.statement is None else self.statement.text


def preview_of(bootstrap: str, text: str, masks: Masks, bounds: Bounds) -> Preview:
    """Read a statement and try it.  Raises: LinkLost; PageError for what is masked."""
    try:
        statement = parse_view(text)
    except ViewError as error:
        return Preview(mistake_in(text, error.problem))
    if statement.kind is Kind.DATABASE:
        return Preview(statement=statement, unseen="Views of databases are evaluated by the server alone.")
    try:
        asked = Asked(statement.source, "", "", (), "oldest", {})
        count = max(1, RECORDS // len(range_of(bootstrap, asked).ends))
        span = range_of(bootstrap, asked._replace(position=f"-{count}"), committed=True)
    except LinkLost:
        raise
    except CommandError as error:
        return Preview(mistake_in(text, f"{error} ({statement.source!r})"))
    source = source_of(bootstrap, statement.source, masks)
    if source.is_view:
        words = f"{source.topic!r} is a view itself; select from {source.reads!r}"
        return Preview(mistake_in(text, words))
    compiled = compile_statement(source, text)
    if isinstance(compiled, Mistake):
        return Preview(compiled)
    if asks_history(compiled):
        unseen = "It asks for tags, which records may have from earlier ones: only the server knows those."
        return Preview(statement=statement, source=source, unseen=unseen)
    columns = _columns(compiled, source)
    look = Look(mask_of_view(compiled.evaluator.plan, source.mask), columns)
    search = Search(bootstrap, compiled.evaluator, look, bounds, count=ROWS)
    found = search.oldest(span.starts, span.ends, span.starts)
    return Preview(statement=statement, source=source, found=found, columns=columns)


def preview_bounds() -> Bounds:
    """Return the bounds of a preview."""
    return Bounds(seconds=SECONDS)


def _columns(compiled: Compiled, source: Source) -> tuple[str, ...]:
    output = compiled.evaluator.plan.output
    if output is None:
        return tuple(source.columns.names[:20]) if source.columns else ()
    return tuple(column.name for column in output[:20])
