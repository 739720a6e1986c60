"""`kawal profile`: names for brokers, so that --bootstrap need not be typed."""

from __future__ import annotations

import argparse
import os

from console.errors import OK
from console.help import Actions, describe
from console.help import dispatch as run
from console.profiles import load, save
from console.tables import table

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        """Keep the addresses of brokers under names.  A client command without --bootstrap talks to
        KAWAL_BOOTSTRAP, else to the broker of the profile that KAWAL_PROFILE names, else to that of the
        profile in use.""",
        [
            ("profile set production --bootstrap kafka.example:9092", "keep an address"),
            ("profile use production", "talk to it from now on"),
        ],
    )
    actions = Actions(parser)
    actions.add(
        "list",
        summary="print the profiles",
        description="Print the profiles; a star marks the one in use.",
        examples=[
            ("profile list", "all of them"),
            ("profile list | grep '^\\*'", "the one in use"),
        ],
        run=_list,
    )
    setting = actions.add(
        "set",
        summary="add or change a profile",
        description="Keep an address under a name.  It is not asked whether a broker is there.",
        examples=[
            ("profile set production --bootstrap kafka.example:9092", "one address"),
            ("profile set test --bootstrap a:9092,b:9092 --use", "several, in use from now on"),
        ],
        run=_set,
    )
    setting.add_argument("name", metavar="NAME", help="the name of the profile")
    setting.add_argument("--bootstrap", metavar="HOST:PORT", required=True, help="the broker's address")
    setting.add_argument("--use", action="store_true", help="use it from now on")
    using = actions.add(
        "use",
        summary="choose the profile in use",
        description="Choose the profile that client commands use; without a name, none.",
        examples=[("profile use production", "this one"), ("profile use", "none: 127.0.0.1:9092 again")],
        run=_use,
    )
    using.add_argument("name", metavar="NAME", nargs="?", help="the name of the profile")
    deleting = actions.add(
        "delete",
        summary="delete a profile",
        description="Delete a profile; when it was in use, none is.",
        examples=[("profile delete test", "one"), ("profile delete production", "another")],
        run=_delete,
    )
    deleting.add_argument("name", metavar="NAME", help="the name of the profile")


def _list(_: argparse.Namespace) -> int:
    known = load(os.environ)
    rows = [
        ("*" if name == known.in_use else "", name, settings.get("bootstrap", "-"))
        for name, settings in sorted(known.profiles.items())
    ]
    print(table(("USED", "PROFILE", "BOOTSTRAP"), rows) if rows else "there are no profiles yet")
    return OK


def _set(arguments: argparse.Namespace) -> int:
    from console.client import endpoints

    endpoints(arguments.bootstrap)
    known = load(os.environ)
    known.profiles.setdefault(arguments.name, {})["bootstrap"] = arguments.bootstrap
    if arguments.use:
        known.in_use = arguments.name
    save(known, os.environ)
    print(f"profile {arguments.name}: {arguments.bootstrap}{', in use' * (known.in_use == arguments.name)}")
    return OK


def _use(arguments: argparse.Namespace) -> int:
    known = load(os.environ)
    if arguments.name is not None:
        known.named(arguments.name)
    known.in_use = arguments.name
    save(known, os.environ)
    print("no profile is in use" if arguments.name is None else f"using profile {arguments.name}")
    return OK


def _delete(arguments: argparse.Namespace) -> int:
    known = load(os.environ)
    known.named(arguments.name)
    del known.profiles[arguments.name]
    if known.in_use == arguments.name:
        known.in_use = None
    save(known, os.environ)
    print(f"deleted profile {arguments.name}")
    return OK
