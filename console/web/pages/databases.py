"""`/databases` and `/databases/D`: where records lie, which only Kawal tells."""

from __future__ import annotations

from typing import Final

from console.database_admin import NO_SUCH_DATABASE, do, found, setting_of
from console.web.errors import PageError
from console.web.paging import page_of
from console.web.visit import Answer, Crumb, Rows, View, Visit, get
from console.wire import NotKawal
from protocol.messages.kawal_databases import DatabaseAction, DatabaseResult

DATABASES: Final = Crumb("Databases", "/databases")
COLUMNS: Final = (
    "name",
    "vnodes",
    "topics",
    "views",
    "size_bytes",
    "durability",
    "retention_ms",
    "directory",
)
VNODE_COLUMNS: Final = ("vnode", "state", "first_version", "next_version", "size_bytes", "streams")


def databases_of(bootstrap: str, names: list[str] | None) -> list[DatabaseResult] | None:
    """Return these databases, or all; None where the broker has none.  Raises: PageError, CommandError."""
    try:
        results = do(bootstrap, DatabaseAction.DESCRIBE, names)
    except NotKawal:
        return None
    for result in results:
        if result.error_code == NO_SUCH_DATABASE:
            raise PageError(404, f"there is no database {result.name!r}")
    return list(found(results))


async def databases(visit: Visit) -> Answer:
    """Show all databases."""
    known = await visit.kafka.run(databases_of, visit.kafka.bootstrap, None)
    page = page_of(visit, [_row(result) for result in known or ()])
    return View(
        title="Databases",
        template="databases.html",
        context={"page": page, "told": known is not None},
        rows=Rows(COLUMNS, page.items),
    )


async def database(visit: Visit) -> Answer:
    """Show one database: its vnodes and settings."""
    name = visit.names["database"]
    known = await visit.kafka.run(databases_of, visit.kafka.bootstrap, [name])
    if not known:
        raise PageError(404, "this broker has no databases: it is not Kawal")
    (one,) = known
    vnodes = [
        (
            state.name,
            state.state,
            state.first_version,
            state.next_version,
            state.size_bytes,
            state.stream_count,
        )
        for state in one.vnode_states
    ]
    page = page_of(visit, vnodes)
    return View(
        title=name,
        template="database.html",
        context={"one": one, "page": page},
        rows=Rows(VNODE_COLUMNS, page.items),
        crumbs=(DATABASES,),
    )


def _row(one: DatabaseResult) -> tuple[object, ...]:
    durability, retention = setting_of(one, "durability"), setting_of(one, "retention.ms")
    counts = (one.vnodes, one.topic_count, one.view_count, one.size_bytes)
    return (one.name, *counts, durability, retention, one.directory)


ROUTES = (get("/databases", databases), get("/databases/{database}", database))
