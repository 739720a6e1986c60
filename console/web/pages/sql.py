"""`/sql?q=` and `/new/view?sql=`: a statement, what it would show, and the topic that it becomes."""

from __future__ import annotations

from typing import Final

from console.web.command_text import command
from console.web.creation import create_topic, problem_of_creation
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.pages.topic import TOPICS
from console.web.plan import Plan, plan_view
from console.web.preview import Preview, preview_bounds, preview_of
from console.web.record_table import rows_of
from console.web.rendering import size
from console.web.sources import SQL
from console.web.text import Shown
from console.web.visit import Answer, Done, Rows, View, Visit, change, get

TEXT_MAX: Final = 16 << 10
EXAMPLE: Final = "SELECT carrier, delay FROM flights WHERE delay > 15"


async def editor(visit: Visit) -> Answer:
    """Show a statement with its mistakes, and what it would show."""
    return await _editor(visit, "sql.html")


async def fragment(visit: Visit) -> Answer:
    """Show what follows the statement alone, while it is written."""
    return await _editor(visit, "sql_preview.html")


async def new_view(visit: Visit) -> Answer:
    """Ask for a name, or show the plan for the topic that a statement becomes."""
    text, name = _text(visit), visit.query.one("name").strip()
    if not text or not name:
        return await _editor(visit, "sql.html")
    preview = await _preview(visit, text)
    if preview.mistake is not None:
        return await _editor(visit, "sql.html")
    problem = ""
    if not visit.read_only:
        problem = await visit.kafka.run(
            problem_of_creation, visit.kafka.bootstrap, name, {SQL: preview.definition}
        )
    plan = Plan(
        command=command_of(visit, name, preview.definition),
        action="/new/view",
        verb=f"Create {name}",
        differences=((f"topic {name}", "", preview.definition),),
        effects=[*_effects(preview)],
        fields=(("sql", preview.definition), ("name", name)),
        problem=problem,
    )
    return plan_view("Create a view", plan, (TOPICS,))


async def create(visit: Visit) -> Answer:
    """Create the view of the form."""
    text, name = visit.form.one("sql").strip(), visit.form.one("name").strip()
    if not text or not name:
        raise PageError(400, "a view needs a statement and a name")
    preview = await _preview(visit, text)  # a statement that looks at what is masked ends here
    if preview.mistake is not None:
        raise PageError(400, preview.mistake.sentence)
    await visit.kafka.run(create_topic, visit.kafka.bootstrap, name, {SQL: preview.definition}, dry_run=False)
    return Done(f"created {name!r} AS {preview.definition}", path_to("topics", name, "records"))


def command_of(visit: Visit, name: str, definition: str) -> str:
    """Return the command that creates a view."""
    statement = f"CREATE TOPIC `{name}` AS {definition}" if name else definition
    return command(visit.settings.bootstrap, "sql", statement)


async def _editor(visit: Visit, template: str) -> View:
    text = _text(visit)
    if len(text) > TEXT_MAX:
        raise PageError(400, f"the statement has {len(text)} characters; at most {TEXT_MAX} are allowed")
    preview = await _preview(visit, text) if text else Preview()
    name = visit.query.one("name").strip() or preview.topic
    found = preview.found
    return View(
        title="SQL to view",
        template=template,
        context={
            "text": text,
            "name": name,
            "preview": preview,
            "example": EXAMPLE,
            "counts": _counts(preview),
            "command": command_of(visit, name or "NAME", preview.definition),
        },
        rows=Rows(("partition", "offset"), ()) if found is None else rows_of(found.rows, preview.columns),
    )


async def _preview(visit: Visit, text: str) -> Preview:
    bounds = preview_bounds()
    try:
        return await visit.kafka.search(
            preview_of, visit.kafka.bootstrap, text, visit.settings.masks, bounds=bounds
        )
    finally:
        bounds.leave()


def _text(visit: Visit) -> str:
    return (visit.query.one("sql") or visit.query.one("q")).strip().replace("\r\n", "\n")


def _counts(preview: Preview) -> Shown:
    found = preview.found
    if found is None:
        return Shown("")
    unfit = f", {found.unfit:,} do not fit" if found.unfit else ""
    return Shown(
        f"{found.matched:,} of {found.looked:,} match{unfit}; "
        f"{size(found.matched_bytes)} of {size(found.batch_bytes)}"
    )


def _effects(preview: Preview) -> list[str]:
    counts = _counts(preview)
    said = f"Of the newest records, {counts}." if counts else preview.unseen
    return [said, "It has no records of its own: it costs nothing until it is read."]


ROUTES = (
    get("/sql", editor),
    get("/sql/preview", fragment),
    get("/new/view", new_view),
    change("/new/view", create),
)
