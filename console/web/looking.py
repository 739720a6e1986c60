"""A search as a job for a process of its own: all that it needs can be sent there, and its result back.

What was compiled cannot, so the statement is compiled again there.
"""

from __future__ import annotations

from console.web.errors import PageError
from console.web.looks import Look
from console.web.ranges import Asked, Range, range_of
from console.web.search import Search, SearchFound
from console.web.search_bounds import Bounds
from console.web.sources import Source
from console.web.statements import Mistake, compile_statement
from console.web.visit import ROWS_MAX


def look_for(
    bootstrap: str, asked: Asked, source: Source, text: str, look: Look, bounds: Bounds, count: int = ROWS_MAX
) -> tuple[SearchFound, Range]:
    """Search by a statement over a source, and return where it looked, too.  Raises: CommandError."""
    compiled = compile_statement(source, text)
    if isinstance(compiled, Mistake):
        raise PageError(400, compiled.sentence)
    span = range_of(bootstrap, asked, committed=True)
    search = Search(bootstrap, compiled.evaluator, look, bounds, count=count)
    if asked.order == "newest":
        return search.newest(span.starts, span.ends, span.at), span
    return search.oldest(span.starts, span.ends, span.at), span
