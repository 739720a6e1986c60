"""`/logs`, `/logs/D/vnode-0` and `/logs/D/vnode-0/SEGMENT`: the write-ahead logs, down to their frames."""

from __future__ import annotations

from typing import Final

from console.web.errors import PageError
from console.web.fields import path_to
from console.web.gateway_metrics import read_figures
from console.web.log_facts import (
    FRAMES_MAX,
    SegmentRow,
    VnodeRow,
    frames_of,
    log_dirs_of,
    log_facts,
    vnodes_of,
)
from console.web.paging import page_of
from console.web.visit import ROWS_MAX, Answer, Crumb, Rows, View, Visit, get

LOGS: Final = Crumb("Logs", "/logs")
FRAME_COLUMNS: Final = (
    "position",
    "kind",
    "sequence",
    "durable_sequence",
    "base_version",
    "entries",
    "records",
    "size_bytes",
    "ingest_ms",
)


async def logs(visit: Visit) -> Answer:
    """Show the logs of all databases, and the disk that they are on."""
    kafka = visit.kafka
    vnodes = await kafka.run(vnodes_of, kafka.bootstrap, None)
    dirs = await kafka.run(log_dirs_of, kafka.bootstrap)
    figures = await kafka.run(read_figures, visit.settings.gateway.metrics)
    page = page_of(visit, vnodes or ())
    return View(
        title="Logs",
        template="logs.html",
        context={"page": page, "told": vnodes is not None, "dirs": dirs[:ROWS_MAX], "figures": figures},
        rows=Rows(VnodeRow._fields, page.items),
    )


async def log(visit: Visit) -> Answer:
    """Show the segments of a vnode's log."""
    database, vnode, kafka = visit.names["database"], visit.names["vnode"], visit.kafka
    _check_beside(visit)
    facts = await kafka.run(log_facts, kafka.bootstrap, database, vnode)
    page = page_of(visit, facts.segments)
    return View(
        title=f"{database}/{vnode}",
        template="log.html",
        context={"facts": facts, "page": page, "database": database, "vnode": vnode},
        rows=Rows(SegmentRow._fields, page.items),
        crumbs=(LOGS,),
    )


async def segment(visit: Visit) -> Answer:
    """Show the frames of a segment, each a group commit."""
    database, vnode, name = visit.names["database"], visit.names["vnode"], visit.names["segment"]
    _check_beside(visit)
    skip = visit.query.number("skip", 0, low=0, high=FRAMES_MAX)
    found, more = await visit.kafka.run(
        frames_of, visit.kafka.bootstrap, database, vnode, name, skip=skip, count=ROWS_MAX
    )
    return View(
        title=name,
        template="log_segment.html",
        context={
            "frames": found,
            "first": skip + 1,
            "before": visit.here(skip=max(0, skip - ROWS_MAX) or None) if skip else "",
            "after": visit.here(skip=skip + ROWS_MAX) if more else "",
        },
        rows=Rows(FRAME_COLUMNS, [tuple(frame[column] for column in FRAME_COLUMNS) for frame in found]),
        crumbs=(LOGS, Crumb(f"{database}/{vnode}", path_to("logs", database, vnode))),
    )


def _check_beside(visit: Visit) -> None:
    if not visit.kafka.is_beside:
        raise PageError(
            404,
            "the files of a log are shown by the console of its gateway alone, which is on the same machine;"
            " there, 'kawal wal inspect' shows them, too",
        )


ROUTES = (
    get("/logs", logs),
    get("/logs/{database}/{vnode}", log),
    get("/logs/{database}/{vnode}/{segment}", segment),
)
