"""`/groups?q=&sort=&state=`: all groups, and how far they are behind."""

from __future__ import annotations

from typing import Final

from console.web.group_list import GroupName, GroupRow, groups_of, progress_of
from console.web.paging import PageOf, page_of
from console.web.topic_list import cluster_of
from console.web.visit import Answer, Rows, View, Visit, get

SORTS: Final = ("name", "-lag", "-seconds")
ALL: Final = "all"


async def groups(visit: Visit) -> Answer:
    """Show the groups whose name has the text that is looked for, 200 on a page."""
    known = await visit.kafka.run(groups_of, visit.kafka.bootstrap)
    wanted, state = visit.query.one("q").strip(), visit.query.one("state", ALL)
    found = [
        group
        for group in known
        if wanted.lower() in group.group.lower() and (state == ALL or group.state == state)
    ]
    page, told = await _page(visit, found)
    address = "" if known else await _address(visit)
    return View(
        title="Groups",
        template="groups.html",
        context={
            "page": page,
            "told": told,
            "q": wanted,
            "state": state,
            "states": [ALL, *sorted({group.state for group in known} | {state} - {ALL})],
            "sort": visit.query.choice("sort", SORTS),
            "total": len(known),
            "address": address,
        },
        rows=Rows(GroupRow._fields, page.items),
    )


async def _page(visit: Visit, found: list[GroupName]) -> tuple[PageOf[GroupRow], bool]:
    """Return the rows of this page; all groups are asked about only if their lag sorts them."""
    sort, bootstrap = visit.query.choice("sort", SORTS), visit.kafka.bootstrap
    if sort != "name" and found:
        rows, told = await visit.kafka.run(progress_of, bootstrap, found)
        by_seconds = sort == "-seconds"
        rows.sort(key=lambda row: (row.lag_seconds if by_seconds else row.lag) or 0, reverse=True)
        return page_of(visit, rows), told
    names = page_of(visit, found)
    if not names.items:
        return PageOf([], *names[1:]), True
    rows, told = await visit.kafka.run(progress_of, bootstrap, names.items)
    return PageOf(rows, *names[1:]), told


async def _address(visit: Visit) -> str:
    """Return the address for the line that makes the first group."""
    cluster = await visit.kafka.run(cluster_of, visit.kafka.bootstrap)
    return cluster.brokers[0] if cluster.brokers else visit.kafka.bootstrap


ROUTES = (get("/groups", groups),)
