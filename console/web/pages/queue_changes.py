"""`/queues/G/release`, `/queues/G/reset` and `/queues/G/purge`: records given back, passed, finished."""

from __future__ import annotations

from collections.abc import Sequence

from console import queue_changes
from console.errors import CommandError
from console.group_reset import parse_topics
from console.link import LinkLost
from console.positions import parse_position
from console.queue_changes import Move, chosen_places
from console.queue_rows import starts_of
from console.web.command_text import command, option
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.pages.queues import QUEUES, queue_of
from console.web.plan import Plan, check_confirmed, plan_view
from console.web.rendering import number, plural
from console.web.visit import ROWS_MAX, Answer, Crumb, Done, View, Visit, change, get

# --- given back ---------------------------------------------------------------------------------------------


async def show_release(visit: Visit) -> Answer:
    """Show which records would be given back."""
    group, member = visit.names["queue"], visit.query.one("member")
    row = await visit.kafka.run(queue_of, visit.kafka.bootstrap, group)
    having = [found for found in row["members"] if member in ("", found["member"])]
    known = [found["pending"] for found in having if found["pending"] is not None]
    whose = f"member {member}" if member else plural(len(having), "member")
    plan = Plan(
        command=command(
            visit.settings.bootstrap,
            "queues release",
            group,
            options=option("member", member) if member else "",
        ),
        action=path_to("queues", group, "release"),
        verb="Give back",
        effects=[
            f"Records that {whose} {'has' if member else 'have'}: {number(sum(known))}. Others may have them"
            " at once; one that was delivered for the last time is archived."
        ],
        fields=[("member", member)],
    )
    return plan_view(f"Give back records of {group}", plan, _crumbs(group))


async def release(visit: Visit) -> Answer:
    """Give them back."""
    group, member = visit.names["queue"], visit.form.one("member")
    rows = await visit.kafka.run(
        queue_changes.released, visit.kafka.bootstrap, group, {}, member_id=member or None, offset=None
    )
    total = sum(row["records"] for row in rows)
    return Done(f"gave back {plural(total, 'record')} of {group!r}", path_to("queues", group))


# --- moved --------------------------------------------------------------------------------------------------


async def show_reset(visit: Visit) -> Answer:
    """Show where a share group would go on."""
    group, to = visit.names["queue"], visit.query.one("to").strip()
    topics = [topic.strip() for topic in visit.query.many("topic") if topic.strip()]
    plan = await _resetting(visit, group, to, topics) if to else None
    return View(
        title=f"Reset {group}",
        template="queue_reset.html",
        context={"plan": plan, "group": group, "to": to, "topic": topics[0] if topics else ""},
        crumbs=_crumbs(group),
    )


def moves_of(bootstrap: str, group: str, to: str, topics: Sequence[str]) -> list[Move]:
    """Return what a position means in each partition.  Raises: PageError, CommandError."""
    position, chosen = parse_position(to, "to"), parse_topics(list(topics))
    current = starts_of(bootstrap, group)
    if not current and not chosen:
        raise PageError(404, f"share group {group!r} does not exist, or has read nothing: name a topic")
    return queue_changes.planned(bootstrap, current, chosen, position)


async def _resetting(visit: Visit, group: str, to: str, topics: Sequence[str]) -> Plan:
    moves: list[Move] = []
    problem = ""
    try:
        moves = await visit.kafka.run(moves_of, visit.kafka.bootstrap, group, to, topics)
    except LinkLost:
        raise
    except CommandError as error:
        problem = str(error)
    options = [*(option("topic", topic) for topic in topics), option("to", to), "--yes"]
    effects = ["All that the group knows of its records is dropped. It must have no members."]
    if len(moves) > ROWS_MAX:
        effects.append(f"The first {ROWS_MAX} of {number(len(moves))} partitions are shown; all are set.")
    return Plan(
        command=command(visit.settings.bootstrap, "queues reset", group, options=" ".join(options)),
        action=path_to("queues", group, "reset"),
        verb="Reset",
        differences=[
            (
                f"{move.topic} {move.partition}",
                "none" if move.current is None else number(move.current),
                number(move.new),
            )
            for move in moves[:ROWS_MAX]
        ],
        effects=[] if problem else effects,
        fields=[("to", to), *(("topic", topic) for topic in topics)],
        problem=problem,
    )


async def reset(visit: Visit) -> Answer:
    """Let the group go on there."""
    group, to, kafka = visit.names["queue"], visit.form.one("to").strip(), visit.kafka
    topics = [topic for topic in visit.form.many("topic") if topic.strip()]
    moves = await kafka.run(moves_of, kafka.bootstrap, group, to, topics)
    await kafka.run(queue_changes.move, kafka.bootstrap, group, moves)
    sentence = f"share group {group!r} is set to {to} in {plural(len(moves), 'partition')}"
    return Done(sentence, path_to("queues", group))


# --- finished -----------------------------------------------------------------------------------------------


async def show_purge(visit: Visit) -> Answer:
    """Show how many records would be finished."""
    group = visit.names["queue"]
    row = await visit.kafka.run(queue_of, visit.kafka.bootstrap, group)
    places = chosen_places(row, {})
    known = [part["backlog"] for part in row["partitions"] if part["backlog"] is not None]
    plan = Plan(
        command=command(visit.settings.bootstrap, "queues purge", group, options="--yes"),
        action=path_to("queues", group, "purge"),
        verb="Purge",
        effects=[
            f"Records that are finished at once, also those that members have: {number(sum(known))}, in"
            f" {plural(len(places), 'partition')}. The topics keep them."
        ],
        confirm=group,
    )
    return plan_view(f"Purge {group}", plan, _crumbs(group))


async def purge(visit: Visit) -> Answer:
    """Finish all that is there."""
    group = visit.names["queue"]
    check_confirmed(visit, group)
    rows = await visit.kafka.run(queue_changes.purged, visit.kafka.bootstrap, group, {})
    total = sum(row["records"] for row in rows)
    return Done(f"archived {plural(total, 'record')} of {group!r}", path_to("queues", group))


def _crumbs(group: str) -> tuple[Crumb, ...]:
    return QUEUES, Crumb(group, path_to("queues", group))


ROUTES = (
    get("/queues/{queue}/release", show_release),
    change("/queues/{queue}/release", release),
    get("/queues/{queue}/reset", show_reset),
    change("/queues/{queue}/reset", reset),
    get("/queues/{queue}/purge", show_purge),
    change("/queues/{queue}/purge", purge),
)
