"""`/acls`, `/new/acl` and `/acls/remove`: the access rules, and their changes."""

from __future__ import annotations

from functools import partial
from typing import Final

from console.acl_admin import (
    CLUSTER_NAME,
    OPERATIONS,
    PATTERNS,
    PERMISSIONS,
    RESOURCES,
    Rule,
    Wanted,
    add,
    find,
    principal_of,
    remove,
)
from console.admin import ask
from console.errors import Refused
from console.web.command_text import command, option
from console.web.errors import PageError
from console.web.fields import Fields
from console.web.paging import page_of
from console.web.plan import Plan, plan_view
from console.web.visit import Answer, Crumb, Done, Rows, View, Visit, change, get
from protocol.error_codes import ErrorCode

ACLS: Final = Crumb("Access rules", "/acls")
WORDS: Final = {
    "permission": ("allow", *(word for word in PERMISSIONS if word != "allow")),
    "operation": tuple(OPERATIONS),
    "resource": tuple(RESOURCES),
    "pattern": tuple(PATTERNS),
}


def rules_of(bootstrap: str, wanted: Wanted) -> list[Rule]:
    """Return the rules that a filter finds.  Raises: CommandError."""
    return find(partial(ask, bootstrap), wanted)


def add_rule(bootstrap: str, rule: Rule) -> None:
    """Add a rule.  Raises: CommandError."""
    add(partial(ask, bootstrap), [rule])


def remove_rule(bootstrap: str, rule: Rule) -> int:
    """Remove exactly one rule; return how many were found.  Raises: CommandError."""
    return len(remove(partial(ask, bootstrap), Wanted(**rule._asdict())))


async def acls(visit: Visit) -> Answer:
    """Show the rules."""
    user = visit.query.one("user").strip()
    wanted = Wanted(principal=principal_of(user)) if user else Wanted()
    found: list[Rule] = []
    enforced = True
    try:
        found = await visit.kafka.run(rules_of, visit.kafka.bootstrap, wanted)
    except Refused as error:
        if error.code != ErrorCode.SECURITY_DISABLED:
            raise
        enforced = False
    page = page_of(visit, found)
    return View(
        title="Access rules",
        template="acls.html",
        context={"page": page, "asked": user, "enforced": enforced},
        rows=Rows(Rule._fields, page.items),
    )


def _rule(fields: Fields) -> Rule:
    """Return the rule of a form.  Raises: PageError, UsageError."""
    chosen = {name: fields.choice(name, words) for name, words in WORDS.items()}
    name = CLUSTER_NAME if chosen["resource"] == "cluster" else fields.one("name")
    if not name:
        raise PageError(400, f"name the {chosen['resource']} that the rule is about; * is every one")
    host = fields.one("host").strip() or "*"
    return Rule(name=name, principal=principal_of(fields.one("principal").strip()), host=host, **chosen)


def _options(rule: Rule) -> str:
    flag = "tokens-of-user" if rule.resource == "user" else rule.resource
    resource = "--cluster" if rule.resource == "cluster" else option(flag, rule.name)
    host = "" if rule.host == "*" else f" {option('host', rule.host)}"
    return f"{option('user', rule.principal)} --operation {rule.operation} {resource}{host}"


def _sentence(rule: Rule) -> str:
    names = "names that begin with" if rule.pattern == "prefixed" else "named"
    return (
        f"{rule.permission} {rule.principal} from {rule.host}: {rule.operation} on {rule.resource}"
        f" {names} {rule.name}"
    )


async def new(visit: Visit) -> Answer:
    """Ask for a rule, and show it in words."""
    plan = None
    if visit.query.one("principal").strip():
        rule = _rule(visit.query)
        known = await visit.kafka.run(rules_of, visit.kafka.bootstrap, Wanted(**rule._asdict()))
        more = " --prefixed" if rule.pattern == "prefixed" else ""
        more += " --deny" if rule.permission == "deny" else ""
        plan = Plan(
            command=command(visit.settings.bootstrap, "acls add", options=f"{_options(rule)}{more}"),
            action="/new/acl",
            verb="Add",
            effects=[_sentence(rule) + ".", "A denial wins over what is allowed."],
            fields=list(rule._asdict().items()),
            problem="there is this rule already" if known else "",
        )
    given = {name: visit.query.one(name) for name in Rule._fields}
    return View(
        title="New access rule",
        template="new_acl.html",
        context={"plan": plan, "given": given, "words": WORDS},
        crumbs=(ACLS,),
    )


async def make(visit: Visit) -> Answer:
    """Add the rule."""
    rule = _rule(visit.form)
    await visit.kafka.run(add_rule, visit.kafka.bootstrap, rule)
    return Done(f"added the rule: {_sentence(rule)}", "/acls")


async def show_remove(visit: Visit) -> Answer:
    """Show which rule would be removed."""
    rule = _rule(visit.query)
    known = await visit.kafka.run(rules_of, visit.kafka.bootstrap, Wanted(**rule._asdict()))
    plan = Plan(
        command=command(
            visit.settings.bootstrap,
            "acls remove",
            options=f"{_options(rule)} --pattern {rule.pattern} --permission {rule.permission} --yes",
        ),
        action="/acls/remove",
        verb="Remove",
        differences=[("rule", _sentence(rule), "none")],
        fields=list(rule._asdict().items()),
        problem="" if known else "there is no such rule",
    )
    return plan_view("Remove an access rule", plan, (ACLS,))


async def drop(visit: Visit) -> Answer:
    """Remove it."""
    rule = _rule(visit.form)
    if not await visit.kafka.run(remove_rule, visit.kafka.bootstrap, rule):
        raise PageError(404, "there is no such rule")
    return Done(f"removed the rule: {_sentence(rule)}", "/acls")


ROUTES = (
    get("/acls", acls),
    get("/new/acl", new),
    change("/new/acl", make),
    get("/acls/remove", show_remove),
    change("/acls/remove", drop),
)
