"""`/groups/G/reset?to=&topic=` and `/groups/G/delete`: where a group goes on to read, and its end."""

from __future__ import annotations

from collections.abc import Sequence

from console.errors import CommandError
from console.group_reset import Move
from console.web.command_text import command, option
from console.web.fields import path_to
from console.web.group_facts import committed_of, find_group
from console.web.group_offsets import commit, delete, members_problem, moves_to, state_of
from console.web.pages.group import GROUPS
from console.web.plan import Plan, check_confirmed, plan_view
from console.web.rendering import number, plural
from console.web.visit import ROWS_MAX, Answer, Crumb, Done, View, Visit, change, get


async def show_reset(visit: Visit) -> Answer:
    """Show what a new position would mean in each partition."""
    group, to = visit.names["group"], visit.query.one("to").strip()
    topics = [topic.strip() for topic in visit.query.many("topic") if topic.strip()]
    plan = await _plan(visit, group, to, topics) if to else None
    context = {"plan": plan, "group": group, "to": to, "topic": topics[0] if topics else ""}
    return View(
        title=f"Reset offsets of {group}", template="group_reset.html", context=context, crumbs=_crumbs(group)
    )


async def _plan(visit: Visit, group: str, to: str, topics: Sequence[str]) -> Plan:
    kafka = visit.kafka
    state = await kafka.run(state_of, kafka.bootstrap, group)
    moves: list[Move] = []
    problem = members_problem(group, state)
    try:
        moves = await kafka.run(moves_to, kafka.bootstrap, group, to, topics)
    except CommandError as error:
        problem = problem or str(error)
    options = [option("topic", topic) for topic in topics] or ["--all-topics"]
    options += [option("to", to), "--execute"]
    return Plan(
        command=command(visit.settings.bootstrap, "groups reset-offsets", group, options=" ".join(options)),
        action=path_to("groups", group, "reset"),
        verb="Reset",
        differences=[_difference(move) for move in moves[:ROWS_MAX]],
        effects=_effects(moves),
        fields=[("to", to), *(("topic", topic) for topic in topics)],
        problem=problem,
    )


def _difference(move: Move) -> tuple[str, str, str]:
    where = f"{move.topic} {move.partition}"
    if move.current is None:
        return where, "none", number(move.new)
    by = move.new - move.current
    words = f" ({number(abs(by))} {'again' if by < 0 else 'skipped'})" if by else " (as it is)"
    return where, number(move.current), number(move.new) + words


def _effects(moves: Sequence[Move]) -> list[str]:
    known = [move.new - move.current for move in moves if move.current is not None]
    again, skipped = -sum(by for by in known if by < 0), sum(by for by in known if by > 0)
    found = []
    if len(moves) > ROWS_MAX:
        found.append(f"The first {ROWS_MAX} of {number(len(moves))} partitions are shown; all are set.")
    if moves:
        found.append(f"Offsets read again: {number(again)}, skipped: {number(skipped)}.")
    return found


async def reset(visit: Visit) -> Answer:
    """Set the offsets."""
    group, to = visit.names["group"], visit.form.one("to").strip()
    kafka = visit.kafka
    moves = await kafka.run(moves_to, kafka.bootstrap, group, to, visit.form.many("topic"))
    await kafka.run(commit, kafka.bootstrap, group, moves)
    sentence = f"group {group!r} is set to {to} in {plural(len(moves), 'partition')}"
    return Done(sentence, path_to("groups", group))


async def show_delete(visit: Visit) -> Answer:
    """Show what deleting a group would do."""
    group, kafka = visit.names["group"], visit.kafka
    found = await kafka.run(find_group, kafka.bootstrap, group)
    committed = {} if found.type == "share" else await kafka.run(committed_of, kafka.bootstrap, group)
    effects = [f"Its offsets in {plural(len(committed), 'partition')} are forgotten."]
    plan = Plan(
        command=command(visit.settings.bootstrap, "groups delete", group),
        action=path_to("groups", group, "delete"),
        verb="Delete",
        effects=effects if committed else ["It has committed nothing."],
        confirm=group,
        problem=members_problem(group, found.state),
    )
    return plan_view(f"Delete {group}", plan, _crumbs(group))


async def remove(visit: Visit) -> Answer:
    """Delete the group."""
    group = visit.names["group"]
    check_confirmed(visit, group)
    await visit.kafka.run(delete, visit.kafka.bootstrap, group)
    return Done(f"deleted group {group!r}", "/groups")


def _crumbs(group: str) -> tuple[Crumb, ...]:
    return GROUPS, Crumb(group, path_to("groups", group))


ROUTES = (
    get("/groups/{group}/reset", show_reset),
    change("/groups/{group}/reset", reset),
    get("/groups/{group}/delete", show_delete),
    change("/groups/{group}/delete", remove),
)
