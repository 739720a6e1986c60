"""`/groups/G/lag`: the lag of a group over the time in which it was looked at, and its stream."""

from __future__ import annotations

import time
from typing import Final

import trio

from console.link import LinkLost
from console.web.fields import path_to
from console.web.group_facts import find_group, group_facts
from console.web.group_list import GroupName, progress_of
from console.web.lag_history import Sample, drawing_of
from console.web.pages.group import GROUPS, sample_of
from console.web.paging import page_of
from console.web.visit import Answer, Crumb, Events, Rows, Tell, View, Visit, get, stream

SAMPLE_SECONDS: Final = 3.0


async def lag(visit: Visit) -> Answer:
    """Show the samples, the newest first."""
    group = visit.names["group"]
    facts = await visit.kafka.run(group_facts, visit.kafka.bootstrap, group)
    visit.lags.add(visit.user, group, sample_of(facts))
    samples = visit.lags.of(visit.user, group)
    page = page_of(visit, samples[::-1])
    return View(
        title=f"Lag of {group}",
        template="group_lag.html",
        context={"group": group, "page": page, **drawn(visit, group)},
        rows=Rows(Sample._fields, page.items),
        crumbs=(GROUPS, Crumb(group, path_to("groups", group))),
    )


async def events(visit: Visit) -> Answer:
    """Push the lag every few seconds, also while the broker is away."""
    group = visit.names["group"]
    name = await visit.kafka.run(find_group, visit.kafka.bootstrap, group)

    async def run(tell: Tell) -> None:
        while True:
            problem = ""
            try:
                visit.lags.add(visit.user, group, await visit.kafka.run(_now, visit.kafka.bootstrap, name))
            except LinkLost as error:
                problem = str(error)
            await tell(visit.render("group_lag_parts.html", problem=problem, **drawn(visit, group)))
            await trio.sleep(SAMPLE_SECONDS)

    return Events(run)


def drawn(visit: Visit, group: str) -> dict[str, object]:
    """Return what the drawing of a group's lag is made of."""
    samples = visit.lags.of(visit.user, group)
    return {"drawing": drawing_of(samples), "last": samples[-1] if samples else None}


def _now(bootstrap: str, name: GroupName) -> Sample:
    """Return the lag of one group, by a request about it alone where there is one."""
    (row,), told = progress_of(bootstrap, [name])
    if not told:
        return sample_of(group_facts(bootstrap, name.group))
    return Sample(time.time_ns() // 1_000_000, row.lag or 0, row.lag_seconds)


ROUTES = (get("/groups/{group}/lag", lag), stream("/groups/{group}/lag/events", events))
