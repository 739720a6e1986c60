"""`/new/database`, `/databases/D/alter` and `/databases/D/drop`: databases made, changed and removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from console.config_admin import key_and_value
from console.database_admin import do, found
from console.errors import CommandError, UsageError
from console.link import LinkLost
from console.web.command_text import command, option
from console.web.errors import PageError
from console.web.fields import Fields, path_to
from console.web.pages.databases import DATABASES, databases_of
from console.web.plan import Plan, check_confirmed, plan_view
from console.web.rendering import plural, size
from console.web.visit import Answer, Crumb, Done, View, Visit, change, get
from protocol.messages.kawal_databases import DatabaseAction, DatabaseResult

Settings = Mapping[str, str | None]
NOT_KAWAL: Final = "this broker has no databases: it is not Kawal"


def act(bootstrap: str, action: DatabaseAction, name: str, settings: Settings, *, dry_run: bool) -> None:
    """Act on a database, or only check whether that would work.  Raises: CommandError."""
    found(do(bootstrap, action, [name], settings, validate_only=dry_run))


async def _problem(visit: Visit, action: DatabaseAction, name: str, settings: Settings) -> str:
    """Return why the broker would refuse, "" if it would not, or may not be asked.  Raises: LinkLost."""
    if visit.read_only:
        return ""
    try:
        await visit.kafka.run(act, visit.kafka.bootstrap, action, name, settings, dry_run=True)
    except LinkLost:
        raise
    except CommandError as error:
        return str(error)
    return ""


async def _known(visit: Visit, name: str) -> DatabaseResult:
    """Return a database.  Raises: PageError."""
    known = await visit.kafka.run(databases_of, visit.kafka.bootstrap, [name])
    if not known:
        raise PageError(404, NOT_KAWAL)
    return known[0]


def _settings(fields: Fields) -> dict[str, str | None]:
    """Return the settings of a form; None for one that goes back to the server's.  Raises: UsageError."""
    lines = (line.strip() for line in fields.one("config").splitlines())
    given: dict[str, str | None] = dict(key_and_value("the setting", line) for line in lines if line)
    given |= dict.fromkeys(fields.one("unset").split())
    if vnodes := fields.number("vnodes", 0, low=1, high=1 << 20):
        given["vnodes"] = str(vnodes)
    return given


# --- a new one ---------------------------------------------------------------------------------------------


async def new(visit: Visit) -> Answer:
    """Ask for a database, and show whether it could be created."""
    name = visit.query.one("name").strip()
    context = {field: visit.query.one(field) for field in ("name", "vnodes", "config")}
    plan = await _creation(visit, name) if name else None
    return View(
        title="New database",
        template="database_settings.html",
        context={**context, "plan": plan, "database": "", "unset": "", "action": "/new/database"},
        crumbs=(DATABASES,),
    )


async def _creation(visit: Visit, name: str) -> Plan:
    settings = _settings(visit.query)
    problem = await _problem(visit, DatabaseAction.CREATE, name, settings)
    vnodes = settings.pop("vnodes", None)
    options = [f"--vnodes {vnodes}"] if vnodes else []
    options += [option("config", f"{key}={value}") for key, value in settings.items()]
    return Plan(
        command=command(visit.settings.bootstrap, "databases create", name, options=" ".join(options)),
        action="/new/database",
        verb="Create",
        effects=[] if problem or visit.read_only else ["The broker would take it as it is."],
        fields=[(field, visit.query.one(field)) for field in ("name", "vnodes", "config")],
        problem=problem,
    )


async def make(visit: Visit) -> Answer:
    """Create the database."""
    name, settings = visit.form.one("name").strip(), _settings(visit.form)
    kafka = visit.kafka
    await kafka.run(act, kafka.bootstrap, DatabaseAction.CREATE, name, settings, dry_run=False)
    return Done(f"created database {name!r}", path_to("databases", name))


# --- other settings ----------------------------------------------------------------------------------------


async def show_alter(visit: Visit) -> Answer:
    """Ask for settings, and show what would change."""
    one = await _known(visit, visit.names["database"])
    settings = _settings(visit.query)
    plan = await _altering(visit, one, settings) if settings else None
    return View(
        title=f"Settings of {one.name}",
        template="database_settings.html",
        context={
            "plan": plan,
            "database": one.name,
            "config": visit.query.one("config"),
            "unset": visit.query.one("unset"),
            "action": path_to("databases", one.name, "alter"),
        },
        crumbs=_crumbs(one.name),
    )


async def _altering(visit: Visit, one: DatabaseResult, settings: Settings) -> Plan:
    problem = await _problem(visit, DatabaseAction.ALTER, one.name, settings)
    now = {setting.name: setting.value for setting in one.settings}
    options = [
        option("unset", key) if value is None else option("config", f"{key}={value}")
        for key, value in settings.items()
    ]
    return Plan(
        command=command(visit.settings.bootstrap, "databases alter", one.name, options=" ".join(options)),
        action=path_to("databases", one.name, "alter"),
        verb="Change",
        differences=[
            (key, now.get(key, ""), "the server's" if value is None else value)
            for key, value in settings.items()
        ],
        effects=[]
        if problem
        else [
            f"It takes effect at once, for {plural(one.topic_count, 'topic')} without a setting of their own."
        ],
        fields=[(field, visit.query.one(field)) for field in ("config", "unset")],
        problem=problem,
    )


async def alter(visit: Visit) -> Answer:
    """Change the settings."""
    name, settings, kafka = visit.names["database"], _settings(visit.form), visit.kafka
    if not settings:
        raise UsageError("say what to change: KEY=VALUE on each line")
    await kafka.run(act, kafka.bootstrap, DatabaseAction.ALTER, name, settings, dry_run=False)
    return Done(f"changed database {name!r}: {', '.join(settings)}", path_to("databases", name))


# --- its end -----------------------------------------------------------------------------------------------


async def show_drop(visit: Visit) -> Answer:
    """Show what dropping a database would do."""
    one = await _known(visit, visit.names["database"])
    held = f"{plural(one.topic_count, 'topic')} and {plural(one.view_count, 'view')}"
    full = one.topic_count or one.view_count
    plan = Plan(
        command=command(visit.settings.bootstrap, "databases drop", one.name),
        action=path_to("databases", one.name, "drop"),
        verb="Drop",
        effects=[f"{plural(one.vnodes, 'write-ahead log')} and {size(one.size_bytes)} go for ever."],
        confirm=one.name,
        problem=f"it has {held}; delete them first" if full else "",
    )
    return plan_view(f"Drop {one.name}", plan, _crumbs(one.name))


async def drop(visit: Visit) -> Answer:
    """Remove the database."""
    name, kafka = visit.names["database"], visit.kafka
    check_confirmed(visit, name)
    await kafka.run(act, kafka.bootstrap, DatabaseAction.DROP, name, {}, dry_run=False)
    return Done(f"dropped database {name!r}", "/databases")


def _crumbs(name: str) -> tuple[Crumb, ...]:
    return DATABASES, Crumb(name, path_to("databases", name))


ROUTES = (
    get("/new/database", new),
    change("/new/database", make),
    get("/databases/{database}/alter", show_alter),
    change("/databases/{database}/alter", alter),
    get("/databases/{database}/drop", show_drop),
    change("/databases/{database}/drop", drop),
)
