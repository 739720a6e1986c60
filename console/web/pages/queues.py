"""`/queues`, `/queues/G` and `/queues/G/peek`: share groups, and the records that members have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import trio

from console.errors import CommandError
from console.link import LinkLost
from console.queue_peek import RANGES_MAX, Segment, ask_group, segments_of
from console.queue_rows import list_queues, read_queues, summary_of
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.first_records import Range, first_records
from console.web.group_list import groups_of
from console.web.paging import page_of
from console.web.visit import ROWS_MAX, Answer, Crumb, Events, Rows, Tell, View, Visit, get, stream
from console.wire import NotKawal

QUEUES: Final = Crumb("Queues", "/queues")
LIST_COLUMNS: Final = ("group", "state", "members", "topics", "under_way", "oldest_seconds", "backlog")
PARTITION_COLUMNS: Final = (
    "topic",
    "partition",
    "start",
    "end",
    "acquired",
    "available",
    "released",
    "acknowledged",
    "archived",
    "backlog",
    "oldest_seconds",
    "error",
)
RANGE_COLUMNS: Final = ("topic", "partition", *Segment._fields)
LOOK_SECONDS: Final = 3.0


def summaries_of(bootstrap: str) -> list[dict[str, Any]] | None:
    """Return all share groups; None where the broker has none such.  Raises: CommandError."""
    try:
        return [summary_of(row) for row in list_queues(bootstrap)]
    except LinkLost:
        raise
    except CommandError as error:
        if isinstance(error.__cause__, NotKawal):  # it closed the connection on a request of KIP-932
            return None
        raise


def queue_of(bootstrap: str, group: str) -> dict[str, Any]:
    """Return a share group.  Raises: PageError when there is none; CommandError."""
    try:
        (row,) = read_queues(bootstrap, [group])
    except LinkLost:
        raise
    except CommandError as error:
        if not any(name.group == group and name.type == "share" for name in groups_of(bootstrap)):
            raise PageError(404, f"there is no share group {group!r}") from error
        raise
    return row


async def queues(visit: Visit) -> Answer:
    """Show all share groups."""
    found = await visit.kafka.run(summaries_of, visit.kafka.bootstrap)
    page = page_of(visit, found or [])
    return View(
        title="Queues",
        template="queues.html",
        context={"page": page, "told": found is not None},
        rows=Rows(LIST_COLUMNS, [_cells(row, LIST_COLUMNS) for row in page.items]),
    )


async def queue(visit: Visit) -> Answer:
    """Show a share group: its members, and its progress in each partition."""
    group = visit.names["queue"]
    row = await visit.kafka.run(queue_of, visit.kafka.bootstrap, group)
    page = page_of(visit, row["partitions"])
    return View(
        title=group,
        template="queue.html",
        context={
            "queue": row,
            "summary": summary_of(row),
            "partitions": page.items,
            "page": page,
            "members": row["members"][:ROWS_MAX],
        },
        rows=Rows(PARTITION_COLUMNS, [_cells(part, PARTITION_COLUMNS) for part in page.items]),
        crumbs=(QUEUES,),
    )


async def events(visit: Visit) -> Answer:
    """Push the numbers of a share group every few seconds, also while the broker is away."""
    group = visit.names["queue"]
    row = await visit.kafka.run(queue_of, visit.kafka.bootstrap, group)

    async def run(tell: Tell) -> None:
        found = row
        while True:
            problem = ""
            try:
                found = await visit.kafka.run(queue_of, visit.kafka.bootstrap, group)
            except LinkLost as error:
                problem = str(error)
            page = page_of(visit, found["partitions"])
            html = visit.render(
                "queue_parts.html", summary=summary_of(found), partitions=page.items, problem=problem
            )
            await tell(html)
            await trio.sleep(LOOK_SECONDS)

    return Events(run)


def ranges_of(bootstrap: str, group: str) -> list[tuple[Any, ...]]:
    """Return the records of a group that are not finished, as ranges.  Raises: PageError, CommandError."""
    try:
        found = ask_group(bootstrap, group, RANGES_MAX)
    except NotKawal as error:
        raise PageError(404, "this broker does not tell which records of a queue are under way") from error
    return [
        (topic.topic_name, partition.partition_index, *segment)
        for topic in found.topics
        for partition in topic.partitions
        if not partition.error_code
        for segment in segments_of(partition)
    ]


async def peek(visit: Visit) -> Answer:
    """Show which records members have, which come next, and the first of each range; none is acquired."""
    group, kafka = visit.names["queue"], visit.kafka
    page = page_of(visit, await kafka.run(ranges_of, kafka.bootstrap, group))
    ranges = [Range(*row[:4]) for row in page.items]
    records = await kafka.run(first_records, kafka.bootstrap, ranges, visit.settings.masks)
    shown = [records.rows.get(wanted) for wanted in ranges]
    parts = [(None, None) if row is None else (row.key, row.value) for row in shown]
    return View(
        title=f"Records of {group}",
        template="queue_peek.html",
        context={
            "page": page,
            "group": group,
            "rows": list(zip(page.items, shown, strict=True)),
            "problems": records.problems,
        },
        rows=Rows(
            (*RANGE_COLUMNS, "first_key", "first_value"),
            [(*row, *part) for row, part in zip(page.items, parts, strict=True)],
        ),
        crumbs=(QUEUES, Crumb(group, path_to("queues", group))),
    )


def _cells(row: Mapping[str, Any], columns: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[column] for column in columns)


ROUTES = (
    get("/queues", queues),
    get("/queues/{queue}", queue),
    stream("/queues/{queue}/events", events),
    get("/queues/{queue}/peek", peek),
)
