"""`/quotas` and `/new/quota`: what users, client ids and addresses may take, and its changes."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from console.admin import ask
from console.errors import UsageError
from console.quota_admin import KEYS, TYPES, Entity, Quotas, alter, entity_text, find
from console.web.command_text import command, option
from console.web.errors import PageError
from console.web.fields import Fields
from console.web.paging import page_of
from console.web.plan import Plan
from console.web.visit import Answer, Crumb, Done, Rows, View, Visit, change, get

QUOTAS: Final = Crumb("Quotas", "/quotas")
EVERY: Final = "*"
"""The name in a form that stands for all that have no quota of their own."""
COLUMNS: Final = ("entity", "quota", "a_second")


def quotas_of(bootstrap: str) -> list[Quotas]:
    """Return all quotas.  Raises: CommandError."""
    return find(partial(ask, bootstrap), ())


def set_quota(bootstrap: str, entity: Entity, key: str, value: float | None) -> None:
    """Set a quota, or with None remove it.  Raises: CommandError."""
    alter(partial(ask, bootstrap), entity, {key: value})


async def quotas(visit: Visit) -> Answer:
    """Show the quotas."""
    words = {key: word for word, key in KEYS.items()}
    found = [
        (of.entity, words.get(key, key), f"{value:.15g}")
        for of in await visit.kafka.run(quotas_of, visit.kafka.bootstrap)
        for key, value in of.values.items()
    ]
    page = page_of(visit, found)
    shown = [(entity_text(entity), word, value, _fields(entity)) for entity, word, value in page.items]
    return View(
        title="Quotas",
        template="quotas.html",
        context={"page": page, "shown": shown},
        rows=Rows(COLUMNS, [row[:3] for row in shown]),
    )


def _fields(entity: Entity) -> dict[str, str]:
    return {kind.replace("-", "_"): EVERY if name is None else name for kind, name in entity}


def _wanted(fields: Fields) -> tuple[Entity, str, float | None]:
    """Return whose quota a form is about, which one, and its value.  Raises: PageError, UsageError."""
    given = ((kind, fields.one(kind.replace("-", "_")).strip()) for kind in TYPES)
    entity = tuple((kind, None if name == EVERY else name) for kind, name in given if name)
    if not entity:
        raise UsageError("say whose quota: a user, a client id, both, or an address; * is every one")
    word, text = fields.choice("quota", tuple(KEYS)), fields.one("value").strip()
    try:
        value = float(text) if text else None
    except ValueError as error:
        raise PageError(400, f"the quota is {text[:40]!r}; it must be a number, or nothing") from error
    if value is not None and not (math.isfinite(value) and value > 0):
        raise PageError(400, f"the quota is {text[:40]!r}; it must be more than 0")
    return entity, word, value


async def new(visit: Visit) -> Answer:
    """Ask for a quota, and show what would change."""
    asked = any(visit.query.one(kind.replace("-", "_")).strip() for kind in TYPES)
    names = (*(kind.replace("-", "_") for kind in TYPES), "quota", "value")
    given = {name: visit.query.one(name) for name in names}
    plan = await _plan(visit, given) if asked else None
    return View(
        title="Quota",
        template="new_quota.html",
        context={"plan": plan, "given": given, "words": tuple(KEYS)},
        crumbs=(QUOTAS,),
    )


async def _plan(visit: Visit, given: dict[str, str]) -> Plan:
    entity, word, value = _wanted(visit.query)
    known = await visit.kafka.run(quotas_of, visit.kafka.bootstrap)
    now = next((of.values.get(KEYS[word]) for of in known if of.entity == tuple(sorted(entity))), None)
    whose = " ".join(f"--default-{kind}" if name is None else option(kind, name) for kind, name in entity)
    verb, rest = ("remove", f"--only {word}") if value is None else ("set", f"--{word} {value:.15g}")
    return Plan(
        command=command(visit.settings.bootstrap, f"quotas {verb}", options=f"{whose} {rest}"),
        action="/new/quota",
        verb="Remove" if value is None else "Set",
        differences=[(f"{word} of {entity_text(entity)}", _text(now), _text(value))],
        fields=list(given.items()),
        problem="there is no such quota" if value is None and now is None else "",
    )


def _text(value: float | None) -> str:
    return "none" if value is None else f"{value:.15g}"


async def make(visit: Visit) -> Answer:
    """Set or remove the quota."""
    entity, word, value = _wanted(visit.form)
    await visit.kafka.run(set_quota, visit.kafka.bootstrap, entity, KEYS[word], value)
    return Done(f"{word} of {entity_text(entity)} is {_text(value)} now", "/quotas")


ROUTES = (get("/quotas", quotas), get("/new/quota", new), change("/new/quota", make))
