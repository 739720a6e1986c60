"""`/groups/G`: a group's members, and how far it is in each partition."""

from __future__ import annotations

import time

from console.web.group_facts import GroupFacts, MemberRow, PlaceRow, group_facts
from console.web.lag_history import Sample, drawing_of
from console.web.paging import page_of
from console.web.visit import ROWS_MAX, Answer, Crumb, Rows, View, Visit, get

GROUPS = Crumb("Groups", "/groups")


async def group(visit: Visit) -> Answer:
    """Show a group."""
    facts = await visit.kafka.run(group_facts, visit.kafka.bootstrap, visit.names["group"])
    page = page_of(visit, facts.places)
    if facts.name.type != "share":
        visit.lags.add(visit.user, facts.name.group, sample_of(facts))
    samples = visit.lags.of(visit.user, facts.name.group)
    context = {
        "facts": facts,
        "page": page,
        "members": facts.members[:ROWS_MAX],
        "drawing": drawing_of(samples),
        "last": samples[-1] if samples else None,
    }
    return View(
        title=facts.name.group,
        template="group.html",
        context=context,
        rows=Rows(PlaceRow._fields, page.items),
        crumbs=(GROUPS,),
    )


def sample_of(facts: GroupFacts) -> Sample:
    """Return the lag of a group now."""
    known = [row.lag_seconds for row in facts.places if row.lag_seconds is not None]
    lag = sum(row.lag for row in facts.places)
    return Sample(time.time_ns() // 1_000_000, lag, max(known) if known else None)


async def members(visit: Visit) -> Answer:
    """Show all members of a group, 200 on a page."""
    facts = await visit.kafka.run(group_facts, visit.kafka.bootstrap, visit.names["group"])
    page = page_of(visit, facts.members)
    return View(
        title="Members",
        template="group_members.html",
        context={"facts": facts, "page": page, "members": page.items},
        rows=Rows(MemberRow._fields, page.items),
        crumbs=(GROUPS, Crumb(facts.name.group, visit.request.path.removesuffix("/members"))),
    )


ROUTES = (get("/groups/{group}", group), get("/groups/{group}/members", members))
