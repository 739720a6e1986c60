"""A search over a topic's records, and the records that do not fit its columns: `/topics/T/unfit`."""

from __future__ import annotations

from console.web.errors import PageError
from console.web.fields import path_to, with_query
from console.web.kept_bars import TimeBar
from console.web.looking import look_for
from console.web.looks import Look
from console.web.masked_plans import mask_of_view
from console.web.pages.topic import TOPICS
from console.web.ranges import Asked, Range, asked_of, positions_text
from console.web.record_table import alias_link, bar_links, bars_of, look_of, rows_of
from console.web.search import SearchFound
from console.web.search_bounds import Bounds
from console.web.search_turns import turn
from console.web.sources import Source, source_of
from console.web.statements import (
    Compiled,
    Mistake,
    asks_history,
    compile_search,
    compile_statement,
    named_columns,
    quoted,
    search_statement,
)
from console.web.visit import Answer, Crumb, View, Visit, get
from views.statement import Kind


async def search_view(visit: Visit, asked: Asked, source: Source) -> View:
    """Show the records that fulfil `where`.  Raises: PageError, CommandError."""
    where = visit.query.one("where")
    compiled = compile_search(source, where)
    shown = named_columns(visit.query.one("cols"))
    sql = "" if source.is_view else search_statement(source.topic, where, shown)
    text = search_statement(source.topic, where)
    return await _search(visit, asked, source, compiled, text, sql, look_of(visit, source))


async def unfit(visit: Visit) -> Answer:
    """Show the records that do not fit the declared columns, each with its reason."""
    asked = asked_of(visit)
    source = await visit.kafka.run(source_of, visit.kafka.bootstrap, asked.topic, visit.settings.masks)
    crumbs = (TOPICS, Crumb(asked.topic, path_to("topics", asked.topic)))
    if source.columns is None or source.is_view or source.framed:
        context = {"topic": asked.topic, "source": source}
        title = f"Unfit records of {asked.topic}"
        return View(title=title, template="no_columns.html", context=context, crumbs=crumbs)
    sql = f"UNFIT {quoted(asked.topic)}"
    compiled = compile_statement(source, sql)
    if isinstance(compiled, Mistake):
        raise PageError(400, compiled.sentence)
    mask = mask_of_view(compiled.evaluator.plan, source.mask)
    return await _search(visit, asked, source, compiled, sql, sql, Look(mask))


async def _search(
    visit: Visit, asked: Asked, source: Source, compiled: Compiled | Mistake, text: str, sql: str, look: Look
) -> View:
    """Search by a statement (`text`), which can be saved as a topic by another one (`sql`)."""
    mistake = compiled if isinstance(compiled, Mistake) else None
    by_history = isinstance(compiled, Compiled) and asks_history(compiled)
    found, stopped = SearchFound(), False
    span: Range | None = None
    bars: list[TimeBar] = []
    if isinstance(compiled, Compiled) and not by_history:
        bounds = Bounds()
        with turn(visit.kafka, bounds):
            found, span = await visit.kafka.search(
                look_for, visit.kafka.bootstrap, asked, source, text, look, bounds=bounds
            )
            stopped = bounds.left
        if span is not None and not asked.at:
            bars = await visit.kafka.run(bars_of, span, visit.bars)
    is_unfit = isinstance(compiled, Compiled) and compiled.statement.kind is Kind.UNFIT
    further = visit.here(at=positions_text(found.next)) if found.more and not found.stuck else ""
    return View(
        title=f"Unfit records of {asked.topic}" if is_unfit else f"Search in {asked.topic}",
        template="unfit.html" if is_unfit else "search.html",
        status=200 if mistake is None else 400,
        context={
            "topic": asked.topic,
            "source": source,
            "look": look,
            "found": found,
            "asked": asked,
            "where": visit.query.one("where"),
            "cols": visit.query.one("cols"),
            "mistake": mistake,
            "by_history": by_history,
            "stopped": stopped,
            "left_out": 0 if span is None else span.left_out,
            "bars": bar_links(visit, bars),
            "alias": alias_link(path_to("topics", asked.topic, "alias"), bars),
            "further": further,
            "save": with_query("/new/view", sql=sql) if sql else "",
        },
        rows=rows_of(found.rows, look.columns),
        crumbs=(TOPICS, Crumb(asked.topic, path_to("topics", asked.topic))),
    )


ROUTES = (get("/topics/{topic}/unfit", unfit),)
