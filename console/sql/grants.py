"""Statements about who may subscribe to topics, as TDengine has them.

GRANT SUBSCRIBE ON TOPIC topic TO [USER] user         READ on the topic's name, of a view without its source
REVOKE SUBSCRIBE ON TOPIC topic FROM [USER] user
SHOW GRANTS      SHOW GRANTS FOR user
"""

from __future__ import annotations

from typing import Final

from console.acl_admin import Rule, Wanted, add, find, principal_of, remove
from console.errors import CommandError
from console.sql.grammar import Form, Parts, form, name, plain_name
from console.sql.results import Result
from console.sql.session import Session


def _rule(parts: Parts) -> Rule:
    return Rule(
        resource="topic",
        name=plain_name(parts["name"]),
        pattern="literal",
        principal=principal_of(plain_name(parts["user"])),
        host="*",
        operation="read",
        permission="allow",
    )


def _grant(session: Session, parts: Parts) -> Result:
    rule = _rule(parts)
    if session.find_topic(rule.name) is None:
        raise CommandError(f"there is no topic {rule.name!r}")
    add(session.ask, [rule])
    return Result(f"granted SUBSCRIBE on {rule.name} to {rule.principal}")


def _revoke(session: Session, parts: Parts) -> Result:
    rule = _rule(parts)
    if not remove(session.ask, Wanted(*rule)):
        raise CommandError(f"{rule.principal} has no SUBSCRIBE on topic {rule.name!r}; SHOW GRANTS lists all")
    return Result(f"revoked SUBSCRIBE on {rule.name} from {rule.principal}")


def _show(session: Session, parts: Parts) -> Result:
    user = parts.get("user")
    wanted = Wanted() if user is None else Wanted(principal=principal_of(plain_name(user)))
    rows = [
        [
            rule.principal,
            rule.permission,
            _privilege(rule),
            rule.resource,
            rule.name,
            rule.pattern,
            rule.host,
        ]
        for rule in find(session.ask, wanted)
    ]
    return Result(columns=COLUMNS, rows=rows)


def _privilege(rule: Rule) -> str:
    return "subscribe" if (rule.resource, rule.operation) == ("topic", "read") else rule.operation


COLUMNS: Final = ("user_name", "permission", "privilege", "object_type", "object_name", "pattern", "host")

FORMS: Final[tuple[Form, ...]] = (
    form(
        "GRANT SUBSCRIBE",
        rf"GRANT SUBSCRIBE ON TOPIC {name()} TO (?:USER )?{name('user')}",
        _grant,
        "GRANT SUBSCRIBE ON TOPIC late TO alice",
    ),
    form(
        "REVOKE SUBSCRIBE",
        rf"REVOKE SUBSCRIBE ON TOPIC {name()} FROM (?:USER )?{name('user')}",
        _revoke,
        "REVOKE SUBSCRIBE ON TOPIC late FROM alice",
    ),
    form("SHOW GRANTS", rf"SHOW GRANTS(?: FOR (?:USER )?{name('user')})?", _show, "SHOW GRANTS FOR alice"),
)
