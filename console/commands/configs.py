"""`kawal configs`: show and change the configurations of any Kafka broker's resources."""

from __future__ import annotations

import argparse
import json

from console.admin import KINDS
from console.client import add_bootstrap
from console.config_admin import CHANGED, alter, as_table, changes_of, describe, find_resource, told, tree
from console.errors import OK, CommandError, UsageError
from console.help import Actions
from console.help import describe as describe_command
from console.help import dispatch as run

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe_command(
        parser,
        """Show and change configurations while the server runs: of a topic, a broker, a consumer group, or
        the levels of a broker's loggers.  'kawal config' shows what a server takes from its file and flags,
        and what each key means.""",
        [
            ("configs describe topic orders", "what was set for a topic"),
            ("configs alter topic orders --set retention.ms=3600000", "keep records for an hour"),
        ],
    )
    actions = Actions(parser)
    _configure_describe(actions)
    _configure_alter(actions)


def _configure_describe(actions: Actions) -> None:
    parser = actions.add(
        "describe",
        summary="show configurations, and where each comes from",
        description="""Show the configurations that were set, with --all every one, or those named by --key.
            For a broker, NAME is its id (by default the controller's) or 'default' for the settings of all
            brokers; for loggers it is the broker's id.""",
        examples=[
            ("configs describe topic orders --all", "every configuration of a topic"),
            ("configs describe broker --key message.max.bytes --synonyms", "one, and what it falls back to"),
            ("configs describe logger --json", "the levels of the loggers, for a program"),
        ],
        run=_describe,
    )
    _add_resource(parser)
    parser.add_argument("--all", action="store_true", help="show every configuration, not only those set")
    parser.add_argument(
        "--key", metavar="KEY", action="append", default=[], help="show this configuration; repeatable"
    )
    parser.add_argument(
        "--synonyms", action="store_true", help="show the other keys a value may come from, nearest first"
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object by key, documentation included"
    )


def _configure_alter(actions: Actions) -> None:
    parser = actions.add(
        "alter",
        summary="change configurations at once",
        description="""Change configurations of one resource, all of them or none.  The changes take effect at
            once and survive a restart (levels of loggers do not).  Everything that is not named stays.""",
        examples=[
            (
                "configs alter topic orders --set retention.ms=3600000 --delete max.message.bytes",
                "two changes",
            ),
            ("configs alter topic orders --append cleanup.policy=compact --dry-run", "only check"),
            ("configs alter broker default --set message.max.bytes=5000000", "for every broker"),
            ("configs alter logger --set kawal.server=DEBUG", "say more in the log"),
        ],
        run=_alter,
    )
    _add_resource(parser)
    for option, help_text in (
        ("--set", "give it this value"),
        ("--append", "add members to a list"),
        ("--subtract", "remove members from a list"),
    ):
        parser.add_argument(
            option, metavar="KEY=VALUE", action="append", default=[], help=f"{help_text}; repeatable"
        )
    parser.add_argument(
        "--delete", metavar="KEY", action="append", default=[], help="go back to the default; repeatable"
    )
    parser.add_argument("--dry-run", action="store_true", help="let the broker check it, but change nothing")


def _add_resource(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", choices=list(KINDS), help=", ".join(KINDS))
    parser.add_argument("name", metavar="NAME", nargs="?", help="the topic, group, or id of the broker")
    add_bootstrap(parser)


def _describe(arguments: argparse.Namespace) -> int:
    resource = find_resource(arguments.bootstrap, arguments.kind, arguments.name)
    found = describe(resource, arguments.key, synonyms=arguments.synonyms)
    missing = set(arguments.key) - {config.name for config in found}
    if missing:
        raise CommandError(f"{resource.words} has no configuration {', '.join(map(repr, sorted(missing)))}")
    if not arguments.all and not arguments.key and arguments.kind != "logger":
        found = [config for config in found if config.config_source in CHANGED]
    if arguments.json:
        print(json.dumps({config.name: tree(config) for config in found}, indent=2))
    elif found:
        print(as_table(found, synonyms=arguments.synonyms))
    else:
        print(f"nothing was set for {resource.words}; --all shows the defaults in effect")
    return OK


def _alter(arguments: argparse.Namespace) -> int:
    changes = changes_of(
        sets=arguments.set,
        deletes=arguments.delete,
        appends=arguments.append,
        subtracts=arguments.subtract,
    )
    if not changes:
        raise UsageError("say what to change with --set, --delete, --append or --subtract")
    resource = find_resource(arguments.bootstrap, arguments.kind, arguments.name)
    alter(resource, changes, dry_run=arguments.dry_run)
    verb = "could be changed" if arguments.dry_run else "changed"
    print(f"{resource.words}: {verb}: {'; '.join(map(told, changes))}")
    return OK
