"""`kawal quotas`: list, set and remove the limits on what clients may take of any Kafka broker."""

from __future__ import annotations

import argparse
import json
from typing import Any

from broker.server.logs import escaped
from console.admin import ask
from console.client import add_bootstrap
from console.errors import OK, UsageError
from console.help import Actions, describe
from console.help import dispatch as run
from console.quota_admin import KEYS, TYPES, Entity, Quotas, alter, entity_text, find
from console.tables import table

__all__ = ["configure", "run"]

UNITS = {
    "produce-bytes": "bytes a second that may be produced",
    "fetch-bytes": "bytes a second that may be fetched",
    "request-percent": "percent of the server's time, 100 for one core",
    "topic-changes": "partitions a second that may be made or deleted",
    "connections": "new connections a second, for an address only",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "List, set and remove limits on what users, client ids and addresses may take of the server.",
        [
            ("quotas list", "all quotas"),
            ("quotas set --user alice --produce-bytes 1048576", "alice produces at most 1 MiB a second"),
        ],
    )
    actions = Actions(parser)
    listing = actions.add(
        "list",
        summary="print the quotas",
        description="Print the quotas of all that have the parts given.",
        examples=[("quotas list --user alice", "of a user"), ("quotas list --json", "for a program")],
        run=_list,
    )
    _add_entity(listing)
    listing.add_argument("--json", action="store_true", help="print a JSON list")
    add_bootstrap(listing)
    setting = actions.add(
        "set",
        summary="limit a user, a client id, both, or an address",
        description="""Set quotas; those that are not named stay.  Of several that fit a client, one of its
            user goes before one of its client id alone, and one that names both before one of the user.""",
        examples=[
            ("quotas set --client-id etl --fetch-bytes 5000000", "a client id, of any user"),
            ("quotas set --default-user --topic-changes 10", "every user that has no quota of its own"),
        ],
        run=_set,
    )
    _add_entity(setting)
    for word, unit in UNITS.items():
        setting.add_argument(f"--{word}", dest=KEYS[word], type=float, metavar="NUMBER", help=unit)
    add_bootstrap(setting)
    removing = actions.add(
        "remove",
        summary="remove quotas",
        description="Remove the quotas that are named from one user, client id, both, or address.",
        examples=[
            ("quotas remove --user alice --only produce-bytes", "one of them"),
            ("quotas remove --user alice", "all"),
        ],
        run=_remove,
    )
    _add_entity(removing)
    removing.add_argument(
        "--only", nargs="+", choices=list(KEYS), metavar="QUOTA", help=f"these: {', '.join(KEYS)}"
    )
    add_bootstrap(removing)


def _add_entity(parser: argparse.ArgumentParser) -> None:
    for kind in TYPES:
        dest = kind.replace("-", "_")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument(f"--{kind}", dest=f"{dest}_name", metavar="NAME", help=f"this {kind}")
        chosen.add_argument(
            f"--default-{kind}",
            dest=f"{dest}_default",
            action="store_true",
            help=f"every {kind} without a quota of its own",
        )


def _entity(arguments: argparse.Namespace) -> Entity:
    parts: list[tuple[str, str | None]] = []
    for kind in TYPES:
        dest = kind.replace("-", "_")
        name = getattr(arguments, f"{dest}_name")
        if name is not None or getattr(arguments, f"{dest}_default"):
            parts.append((kind, name))
    return tuple(parts)


def _asker(arguments: argparse.Namespace) -> Any:
    return lambda request, version: ask(arguments.bootstrap, request, version)


def _list(arguments: argparse.Namespace) -> int:
    found = find(_asker(arguments), _entity(arguments))
    if arguments.json:
        print(json.dumps([{"entity": dict(of.entity), "quotas": of.values} for of in found], indent=2))
    else:
        _print(found)
    return OK


def _print(found: list[Quotas]) -> None:
    words = {key: word for word, key in KEYS.items()}
    rows = [
        [escaped(entity_text(of.entity)), words.get(key, key), f"{value:.15g}"]
        for of in found
        for key, value in of.values.items()
    ]
    print(table(["OF", "QUOTA", "A SECOND"], rows) if rows else "no quotas")


def _set(arguments: argparse.Namespace) -> int:
    changes: dict[str, float | None] = {
        key: getattr(arguments, key) for key in KEYS.values() if getattr(arguments, key) is not None
    }
    if not changes:
        raise UsageError("name a quota: " + ", ".join(f"--{word} NUMBER" for word in KEYS))
    return _change(arguments, changes)


def _remove(arguments: argparse.Namespace) -> int:
    words = arguments.only or list(KEYS)
    return _change(arguments, {KEYS[word]: None for word in words})


def _change(arguments: argparse.Namespace, changes: dict[str, float | None]) -> int:
    entity, asker = _entity(arguments), _asker(arguments)
    alter(asker, entity, changes)
    _print([of for of in find(asker, entity) if of.entity == tuple(sorted(entity))])
    return OK
