"""`kawal profile`: names for brokers with the ways to them, so that --bootstrap need not be typed."""

from __future__ import annotations

import argparse
import os

from console.errors import OK
from console.help import Actions, describe
from console.help import dispatch as run
from console.profile_options import add_security_options, security_settings
from console.profiles import load, save
from console.security import PROTOCOL
from console.tables import table

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        """Keep the addresses of brokers under names, with the settings for TLS and logins that they need.  A
        client command without --bootstrap talks to KAWAL_BOOTSTRAP, else to the broker of the profile that
        KAWAL_PROFILE names, else to that of the profile in use.  The settings of a profile are used for its
        own addresses only.

        Profiles are kept with their passwords in the folder kawal of $XDG_CONFIG_HOME (by default ~/.config),
        in a file that only its owner can read.""",
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
    _add_set(actions)
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


def _add_set(actions: Actions) -> None:
    setting = actions.add(
        "set",
        summary="add or change a profile",
        description="""Keep an address under a name, and the settings that its connections need.  It is not
        asked whether a broker is there.

        Settings for TLS and logins are read from a file as Kafka's tools take it (--from), or given one by
        one; options go before the file.  Given again, they replace all that were there before; --protocol
        PLAINTEXT leaves none.""",
        examples=[
            ("profile set production --bootstrap kafka.example:9092", "one address"),
            ("profile set test --bootstrap a:9092,b:9092 --use", "several, in use from now on"),
            (
                "profile set production --bootstrap kafka.example:9093 --protocol SASL_SSL --ca ca.pem"
                " --mechanism SCRAM-SHA-512 --user alice",
                "with a login; the password is asked for",
            ),
            (
                "profile set ops --bootstrap kafka.example:9094 --protocol SSL --ca ca.pem"
                " --certificate ops.pem --key ops-key.pem",
                "with a certificate",
            ),
            (
                "profile set old --bootstrap kafka.example:9093 --from client.properties",
                "as Kafka's tools do",
            ),
        ],
        run=_set,
    )
    setting.add_argument("name", metavar="NAME", help="the name of the profile")
    setting.add_argument("--bootstrap", metavar="HOST:PORT", required=True, help="the broker's address")
    setting.add_argument("--use", action="store_true", help="use it from now on")
    add_security_options(setting)


def _list(_: argparse.Namespace) -> int:
    known = load(os.environ)
    rows = [
        (
            "*" if name == known.in_use else "",
            name,
            settings.get("bootstrap", "-"),
            settings.get(PROTOCOL, "PLAINTEXT"),
        )
        for name, settings in sorted(known.profiles.items())
    ]
    print(table(("USED", "PROFILE", "BOOTSTRAP", "PROTOCOL"), rows) if rows else "there are no profiles yet")
    return OK


def _set(arguments: argparse.Namespace) -> int:
    from console.client import endpoints

    endpoints(arguments.bootstrap)
    known = load(os.environ)
    settings = security_settings(arguments)
    before = known.profiles.get(arguments.name, {}) if settings is None else settings
    known.profiles[arguments.name] = {**before, "bootstrap": arguments.bootstrap}
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
