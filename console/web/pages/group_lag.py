"""`/groups/G/lag`: the lag of a group over the time in which it was looked at, and its stream.

With `since` (6h, 30m, 2d) it is that of any time, from what was committed.
"""

from __future__ import annotations

import re
import time
from typing import Final

import trio

from console.link import LinkLost
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.group_facts import find_group, group_facts
from console.web.group_list import GroupName, progress_of
from console.web.lag_history import Sample, drawing_of
from console.web.pages.group import GROUPS, sample_of
from console.web.paging import page_of
from console.web.past_lag import PastSample, drawing_of_past, past_lag
from console.web.search_bounds import Bounds
from console.web.visit import Answer, Crumb, Events, Rows, Tell, View, Visit, get, stream

SAMPLE_SECONDS: Final = 3.0
PAST_SECONDS: Final = 5.0
"""The time for reading commits."""
UNITS_MS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


async def lag(visit: Visit) -> Answer:
    """Show the samples, the newest first."""
    group = visit.names["group"]
    if visit.query.one("since").strip():
        return await _past(visit, group)
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


async def _past(visit: Visit, group: str) -> View:
    """Show the lag at moments of the time before now, the newest first."""
    since_ms = _since_ms(visit.query.one("since").strip())
    await visit.kafka.run(find_group, visit.kafka.bootstrap, group)
    now_ms = time.time_ns() // 1_000_000
    bounds = Bounds(seconds=PAST_SECONDS)
    try:
        past = await visit.kafka.search(
            past_lag, visit.kafka.bootstrap, group, now_ms - since_ms, now_ms, bounds=bounds
        )
    finally:
        bounds.leave()
    samples = past.samples[::-1]
    return View(
        title=f"Lag of {group}",
        template="group_past.html",
        context={"group": group, "past": past, "samples": samples, "drawing": drawing_of_past(past.samples)},
        rows=Rows(PastSample._fields, samples),
        crumbs=(GROUPS, Crumb(group, path_to("groups", group))),
    )


def _since_ms(text: str) -> int:
    """Return a time such as 6h in ms.  Raises: PageError."""
    found = re.fullmatch(r"([1-9][0-9]{0,3})([mhd])", text)
    if found is None:
        raise PageError(400, f"since is {text[:40]!r}; it must be a time before now, such as 30m, 6h or 2d")
    return int(found[1]) * UNITS_MS[found[2]]


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
