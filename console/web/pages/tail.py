"""`/topics/T/tail`: records as they come, and their stream of events.

from    where to begin, the end without it, as on the command line
at      where it goes on: 0:1234,1:99; events carry the same as their id, and a browser that comes back asks
        for what follows the last that it has seen
where   only records that fulfil this condition
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import trio

from console.errors import CommandError
from console.web.errors import PageError
from console.web.fields import path_to, with_query
from console.web.following import ROWS, Follower
from console.web.looks import Look, RecordRow
from console.web.pages.topic import TOPICS
from console.web.ranges import Asked, asked_of, offsets_in, positions_text, range_of
from console.web.record_rows import Budget, Found, Place, newest, oldest
from console.web.record_table import look_of, rows_of
from console.web.search import Search, SearchFound
from console.web.search_bounds import Bounds
from console.web.sources import Source, source_of
from console.web.statements import Compiled, Mistake, asks_history, compile_search
from console.web.visit import Answer, Crumb, Events, Tell, View, Visit, get, stream
from views.evaluator import Evaluator

PUSH_SECONDS: Final = 0.2
SHOWN: Final = 200
LOOK_SECONDS: Final = 2.0
"""The time that a page looks back for records which fulfil a condition."""


async def tail(visit: Visit) -> Answer:
    """Show the last records, or those since the last look; with scripts, more follow by themselves."""
    asked = asked_of(visit)
    source = await visit.kafka.run(source_of, visit.kafka.bootstrap, asked.topic, visit.settings.masks)
    compiled = _condition(visit, source)
    mistake = compiled if isinstance(compiled, Mistake) else None
    look = look_of(visit, source)
    evaluator = None if isinstance(compiled, Mistake) else compiled
    shown, reached = await visit.kafka.run(first_look, visit.kafka.bootstrap, asked, look, evaluator)
    at, where = positions_text(reached), visit.query.one("where")
    return View(
        title=f"Tail of {asked.topic}",
        template="tail.html",
        status=400 if mistake else 200,
        context={
            "topic": asked.topic,
            "source": source,
            "look": look,
            "rows": list(reversed(shown)) if asked.at else shown,
            "mistake": mistake,
            "where": where,
            "since": bool(asked.at),
            "refresh": visit.here(at=at),
            "events": with_query(
                path_to("topics", asked.topic, "tail", "events"),
                at=at,
                p=visit.query.one("p") or None,
                where=where or None,
                cols=visit.query.one("cols") or None,
            ),
            "cols": visit.query.one("cols"),
            "asked": asked,
        },
        rows=rows_of(shown, look.columns),
        crumbs=(TOPICS, Crumb(asked.topic, path_to("topics", asked.topic))),
    )


async def events(visit: Visit) -> Answer:
    """Push what comes, every 200 ms."""
    asked = asked_of(visit)
    at = offsets_in(visit.last_event) or asked.at
    asked = asked._replace(at=at, order="oldest" if at else "newest")
    source = await visit.kafka.run(source_of, visit.kafka.bootstrap, asked.topic, visit.settings.masks)
    compiled = _condition(visit, source)
    if isinstance(compiled, Mistake):
        raise PageError(400, compiled.sentence)
    span = await visit.kafka.run(range_of, visit.kafka.bootstrap, asked)
    look = look_of(visit, source)
    follower = Follower(visit.kafka.bootstrap, span.at, look, compiled)
    follower.skip_to(span.ends)

    async def run(tell: Tell) -> None:
        problem: CommandError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_push, visit, follower, asked.topic, look.columns, tell)
            try:
                await visit.kafka.follow(follower.follow)
            except CommandError as error:
                problem = error
            finally:
                follower.leave()
            nursery.cancel_scope.cancel()
        if problem is not None:
            raise problem

    return Events(run)


async def _push(visit: Visit, follower: Follower, topic: str, columns: tuple[str, ...], tell: Tell) -> None:
    while True:
        await trio.sleep(PUSH_SECONDS)
        push = follower.take()
        if push is not None:
            html = visit.render("tail_rows.html", topic=topic, push=push, columns=columns)
            await tell(html, id=positions_text(push.positions))


def first_look(
    bootstrap: str, asked: Asked, look: Look, evaluator: Evaluator | None
) -> tuple[list[RecordRow], Mapping[Place, int]]:
    """Return the last records, or those since the positions of the last look, and where it goes on.

    Raises: CommandError.
    """
    span = range_of(bootstrap, asked._replace(order="oldest" if asked.at else "newest"))
    found: Found | SearchFound
    if evaluator is not None:
        search = Search(bootstrap, evaluator, look, Bounds(seconds=LOOK_SECONDS), count=ROWS)
        look_through = search.oldest if asked.at else search.newest
        found = look_through(span.starts, span.ends, span.at)
    elif asked.at:
        found = oldest(bootstrap, span.at, span.ends, SHOWN, Budget(), look)
    else:
        found = newest(bootstrap, span.starts, span.at, ROWS, Budget(), look)
    return found.rows, found.next if asked.at else span.ends


def _condition(visit: Visit, source: Source) -> Evaluator | Mistake | None:
    """Return what the records must fulfil, None for all.  Raises: PageError."""
    where = visit.query.one("where")
    if not where.strip():
        return None
    compiled = compile_search(source, where)
    if isinstance(compiled, Compiled) and asks_history(compiled):
        raise PageError(400, "tags of earlier records are known to the server alone: save it as a topic")
    return compiled if isinstance(compiled, Mistake) else compiled.evaluator


ROUTES = (get("/topics/{topic}/tail", tail), stream("/topics/{topic}/tail/events", events))
