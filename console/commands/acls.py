"""`kawal acls`: list, add and remove the access rules of any Kafka broker with an authorizer."""

from __future__ import annotations

import argparse
import json
from ipaddress import ip_address
from typing import Any

from broker.security.addresses import spellings
from broker.server.logs import escaped
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
from console.client import add_bootstrap
from console.errors import OK, UsageError
from console.help import Actions, describe
from console.help import dispatch as run
from console.tables import table

__all__ = ["configure", "run"]

TOKENS_OF_USER = "tokens-of-user"
"""The resource USER stands for a user's delegation tokens; `--user` names the client of a rule."""

EVERY_HOST = "*"

HEADINGS = ("PERMISSION", "OPERATION", "RESOURCE", "NAME", "PATTERN", "USER", "HOST")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "List, add and remove rules about who may do what; authorizer.class.name has them enforced.",
        [
            ("acls list", "all rules"),
            ("acls add --user alice --operation read --topic orders", "alice may read a topic"),
        ],
    )
    actions = Actions(parser)
    listing = actions.add(
        "list",
        summary="print the rules",
        description="Print the rules that match all that is given.",
        examples=[("acls list --user alice", "the rules of one user"), ("acls list --json", "a program's")],
        run=_list,
    )
    _add_filter(listing)
    listing.add_argument("--json", action="store_true", help="print a JSON list")
    adding = actions.add(
        "add",
        summary="allow or deny something",
        description="""Add rules, one for each operation.  A denial wins over what is allowed.  What allows to
            read, write, delete or alter allows to describe, too.""",
        examples=[
            ("acls add --user alice --operation read write --topic orders --prefixed", "topics orders…"),
            ("acls add --user '*' --operation all --group g --deny --host 10.0.0.7", "a denial"),
        ],
        run=_add,
    )
    adding.add_argument(
        "--user", dest="client", metavar="NAME", required=True, help="alice, User:CN=alice,O=acme or '*'"
    )
    adding.add_argument(
        "--operation", nargs="+", required=True, choices=list(OPERATIONS), metavar="OPERATION", help=_LISTED
    )
    _add_resource(adding)
    adding.add_argument("--prefixed", action="store_true", help="all names that begin with the name")
    adding.add_argument("--host", metavar="ADDRESS", default=EVERY_HOST, help="only from this address")
    adding.add_argument("--deny", action="store_true", help="deny it; without, it is allowed")
    add_bootstrap(adding)
    removing = actions.add(
        "remove",
        summary="remove rules",
        description="""Remove the rules that match all that is given; without --yes they are only listed.
            --yes takes something to match, or --all: no rule goes because a word was forgotten.""",
        examples=[
            ("acls remove --user alice --topic orders", "list what would be removed"),
            ("acls remove --user alice --topic orders --yes", "remove it"),
            ("acls remove --all --yes", "remove every rule"),
        ],
        run=_remove,
    )
    _add_filter(removing)
    removing.add_argument("--all", action="store_true", help="every rule; nothing to match may be given")
    removing.add_argument("--yes", action="store_true", help="remove what is found, and not only list it")


_LISTED = ", ".join(OPERATIONS)


def _add_resource(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_mutually_exclusive_group()
    for word in RESOURCES:
        if word == "cluster":
            chosen.add_argument("--cluster", action="store_true", help="the cluster")
        else:
            flag = TOKENS_OF_USER if word == "user" else word
            chosen.add_argument(f"--{flag}", dest=word, metavar="NAME", help=f"{word} NAME; '*': every one")


def _add_filter(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", dest="client", metavar="NAME", help="rules of this user")
    parser.add_argument("--operation", choices=list(OPERATIONS), metavar="OPERATION", help=_LISTED)
    _add_resource(parser)
    parser.add_argument("--pattern", choices=list(PATTERNS), help="rules for names, or for prefixes")
    parser.add_argument("--host", metavar="ADDRESS", help="rules for this address")
    parser.add_argument("--permission", choices=list(PERMISSIONS), help="rules that allow, or that deny")
    add_bootstrap(parser)


def _resource(arguments: argparse.Namespace) -> tuple[str, str] | None:
    if arguments.cluster:
        return "cluster", CLUSTER_NAME
    for word in RESOURCES:
        name = None if word == "cluster" else getattr(arguments, word)
        if name is not None:
            return word, name
    return None


def _asker(arguments: argparse.Namespace) -> Any:
    return lambda request, version: ask(arguments.bootstrap, request, version)


def _wanted(arguments: argparse.Namespace) -> Wanted:
    resource, name = _resource(arguments) or (None, None)
    return Wanted(
        resource=resource,
        name=name,
        pattern=arguments.pattern,
        principal=None if arguments.client is None else principal_of(arguments.client),
        host=arguments.host,
        operation=arguments.operation,
        permission=arguments.permission,
    )


def _list(arguments: argparse.Namespace) -> int:
    rules = find(_asker(arguments), _wanted(arguments))
    if arguments.json:
        print(json.dumps([rule._asdict() for rule in rules], indent=2))
    else:
        _print(rules)
    return OK


def _print(rules: list[Rule]) -> None:
    if not rules:
        print("no rules")
        return
    rows = [
        [
            rule.permission,
            rule.operation,
            rule.resource,
            escaped(rule.name),
            rule.pattern,
            escaped(rule.principal),
            escaped(rule.host),
        ]
        for rule in rules
    ]
    print(table(list(HEADINGS), rows))


def _add(arguments: argparse.Namespace) -> int:
    resource = _resource(arguments)
    if resource is None:
        raise UsageError("name what the rule is about: --topic, --group, --cluster, --transactional-id …")
    host = _host(arguments.host)
    rules = [
        Rule(
            resource=resource[0],
            name=resource[1],
            pattern="prefixed" if arguments.prefixed else "literal",
            principal=principal_of(arguments.client),
            host=host,
            operation=operation,
            permission="deny" if arguments.deny else "allow",
        )
        for operation in arguments.operation
    ]
    add(_asker(arguments), rules)
    _print(rules)
    return OK


def _host(text: str) -> str:
    """Return an address as every broker compares it.

    Raises: UsageError, for what no client's address is: Kafka stores it, and such a denial denies nothing.
    """
    if text == EVERY_HOST:
        return text
    try:
        return spellings(ip_address(text).compressed)[-1]
    except ValueError:
        raise UsageError(
            f"--host {text!r} is no address, and rules know neither ranges nor names of hosts; give one"
            " address, such as 10.0.0.7, or leave --host out for all"
        ) from None


def _remove(arguments: argparse.Namespace) -> int:
    ask_broker, wanted = _asker(arguments), _wanted(arguments)
    is_every_rule = wanted == Wanted()
    if arguments.all and not is_every_rule:
        raise UsageError("--all means every rule, so it goes with nothing to match; leave one of them out")
    if arguments.yes and is_every_rule and not arguments.all:
        raise UsageError(
            "--yes alone would remove every rule; say which: --user, --topic, --group …, or --all for every"
            " one of them"
        )
    if arguments.yes:
        _print(remove(ask_broker, wanted))
        return OK
    rules = find(ask_broker, wanted)
    _print(rules)
    if rules:
        print("nothing was removed; --yes removes these rules")
    return OK
