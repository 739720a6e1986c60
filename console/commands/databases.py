"""`kawal databases`: list, create, describe, alter and drop the databases of a Kawal server."""

from __future__ import annotations

import argparse
import json

from console.client import add_bootstrap
from console.database_admin import (
    DATABASE_EXISTS,
    NO_SUCH_DATABASE,
    as_json,
    as_table,
    as_text,
    described,
    do,
    found,
    told,
)
from console.errors import OK, UsageError
from console.help import Actions, describe, int32
from console.help import dispatch as run
from console.silence import told_of
from protocol.messages.kawal_databases import DatabaseAction

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        """List, create, describe, alter and drop databases of a Kawal server.

        A database has write-ahead logs of its own and one policy for all topics in it: how durable records
        are, how files are cut, and the retention of topics that have none of their own.  Topics are placed in
        it when they are created, with --config kawal.database=NAME.""",
        [
            ("databases list", "the databases of 127.0.0.1:9092"),
            ("databases create telemetry --vnodes 4 --config retention.ms=86400000", "four logs, one day"),
            ("databases describe telemetry", "what is in it, and its settings"),
        ],
    )
    actions = Actions(parser)
    _configure_list(actions)
    _configure_create(actions)
    _configure_describe(actions)
    _configure_alter(actions)
    _configure_drop(actions)
    _configure_restore(actions)


def _configure_list(actions: Actions) -> None:
    parser = actions.add(
        "list",
        summary="print the databases",
        description="Print the names of the databases, and with --long what is in them, too.",
        examples=[("databases list", "names, one a line"), ("databases list --long", "a table")],
        run=_list,
    )
    add_bootstrap(parser)
    parser.add_argument("--long", "-l", action="store_true", help="print vnodes, topics, size and policy")
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_create(actions: Actions) -> None:
    parser = actions.add(
        "create",
        summary="create databases",
        description="""Create databases.  Settings not given are the server's.  TDengine's options VGROUPS,
            WAL_LEVEL, WAL_FSYNC_PERIOD, WAL_RETENTION_PERIOD, WAL_RETENTION_SIZE, WAL_ROLL_PERIOD and
            WAL_SEGMENT_SIZE are understood and translated.""",
        examples=[
            ("databases create telemetry --vnodes 4", "four write-ahead logs"),
            ("databases create fast --config durability=os --config flush.ms=100", "synced every 100 ms"),
            ("databases create d --config WAL_RETENTION_PERIOD=3600", "TDengine's word: kept for an hour"),
        ],
        run=_create,
    )
    _add_names(parser)
    parser.add_argument("--vnodes", "-v", metavar="N", type=int32, help="write-ahead logs of the database")
    _add_settings(parser)
    parser.add_argument("--if-not-exists", action="store_true", help="a database that exists is not an error")
    parser.add_argument("--validate-only", action="store_true", help="check, but create nothing")


def _configure_describe(actions: Actions) -> None:
    parser = actions.add(
        "describe",
        summary="show what is in databases, and their settings",
        description="Show vnodes, topics, views and all settings in effect.",
        examples=[("databases describe telemetry", "for people"), ("databases describe d --json", "in JSON")],
        run=_describe,
    )
    _add_names(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_alter(actions: Actions) -> None:
    parser = actions.add(
        "alter",
        summary="change settings of databases",
        description="""Change settings; they take effect at once, also for the topics in the database.  The
            number of vnodes is fixed when a database is created.""",
        examples=[
            ("databases alter telemetry --config retention.ms=3600000", "an hour from now on"),
            ("databases alter telemetry --unset retention.ms", "the server's setting again"),
        ],
        run=_alter,
    )
    _add_names(parser)
    _add_settings(parser)
    parser.add_argument(
        "--unset", metavar="KEY", action="append", default=[], help="remove a setting; repeatable"
    )


def _configure_drop(actions: Actions) -> None:
    parser = actions.add(
        "drop",
        summary="remove empty databases",
        description="""Remove databases with their write-ahead logs.  One that has topics or views is refused:
            delete them first.""",
        examples=[
            ("databases drop telemetry", "one database"),
            ("databases drop a b --if-exists", "no error when one does not exist"),
        ],
        run=_drop,
    )
    _add_names(parser)
    parser.add_argument("--if-exists", action="store_true", help="one that does not exist is not an error")


def _configure_restore(actions: Actions) -> None:
    parser = actions.add(
        "restore",
        summary="make a database again from a running server",
        description="""Read a database through a view WITH META of a running server, and make it again on
            another, or under another name on the same one: the topics with their configurations and
            partitions, and the records with key, value, headers and time.  Then compare every partition with
            its copy.

            The database is created like the other if it does not exist; topics of the same names are refused.
            The present records are restored, in their order; those that come meanwhile may be missing.  Each
            gets the header kawal.origin.  Offsets begin at 0 in the copy.  Views are created again where the
            names are the same, and groups continue at the same records where it is another server.""",
        examples=[
            ("databases restore power --from other:9092", "from another server, under the same name"),
            ("databases restore power --as power2 --prefix copy.", "on the same server"),
            ("databases restore power --from other:9092 --skip-restored", "what was not restored itself"),
        ],
        run=_restore,
    )
    parser.add_argument("database", metavar="DATABASE", help="its name on the server that has it")
    add_bootstrap(parser)
    parser.add_argument("--from", metavar="HOST:PORT", dest="source", help="that server; default --bootstrap")
    parser.add_argument("--as", metavar="NAME", dest="copy", help="the copy's name (default the same)")
    parser.add_argument("--prefix", default="", help="put before the names of the copy's topics")
    parser.add_argument("--skip-restored", action="store_true", help="leave out records with kawal.origin")
    parser.add_argument("--no-check", action="store_true", help="do not compare the copy afterwards")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("databases", metavar="DATABASE", nargs="+", help="a name; several may be given")
    add_bootstrap(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="KEY=VALUE", action="append", default=[], help="a setting; repeatable"
    )


def _list(arguments: argparse.Namespace) -> int:
    results, silent = described(arguments.bootstrap, None)
    if arguments.json:
        print(as_json(results))
    elif arguments.long:
        print(as_table(results))
    else:
        print("\n".join(database.name for database in results))
        return OK  # every node knows the names
    return told_of(silent)


def _create(arguments: argparse.Namespace) -> int:
    settings = _settings(arguments.config)
    if arguments.vnodes is not None:
        settings["vnodes"] = str(arguments.vnodes)
    results = do(
        arguments.bootstrap,
        DatabaseAction.CREATE,
        arguments.databases,
        settings,
        validate_only=arguments.validate_only,
    )
    verb = "could be created" if arguments.validate_only else "created"
    print(told(results, verb, {DATABASE_EXISTS: "exists already"} if arguments.if_not_exists else {}))
    return OK


def _describe(arguments: argparse.Namespace) -> int:
    results, silent = described(arguments.bootstrap, arguments.databases)
    found(results)
    print(as_json(results) if arguments.json else "\n\n".join(as_text(database) for database in results))
    return told_of(silent)


def _alter(arguments: argparse.Namespace) -> int:
    settings = _settings(arguments.config) | dict.fromkeys(arguments.unset)
    if not settings:
        raise UsageError("say what to change: --config KEY=VALUE or --unset KEY")
    print(told(do(arguments.bootstrap, DatabaseAction.ALTER, arguments.databases, settings), "altered", {}))
    return OK


def _drop(arguments: argparse.Namespace) -> int:
    results = do(arguments.bootstrap, DatabaseAction.DROP, arguments.databases)
    print(told(results, "dropped", {NO_SUCH_DATABASE: "does not exist"} if arguments.if_exists else {}))
    return OK


def _restore(arguments: argparse.Namespace) -> int:
    # With the parts of views that it needs, this takes too long to be imported for every command.
    from console.restoring.database_restore import DatabaseRestore, Order
    from console.sql.session import Session

    source, copy = arguments.source or arguments.bootstrap, arguments.copy or arguments.database
    if source == arguments.bootstrap and copy == arguments.database:
        raise UsageError("say where the database is with --from, or another name for the copy with --as")
    order = Order(
        arguments.database,
        copy,
        prefix=arguments.prefix,
        skips_restored=arguments.skip_restored,
        checks=not arguments.no_check,
    )
    outcome = DatabaseRestore(Session(source), Session(arguments.bootstrap), order).run()
    if arguments.json:
        print(json.dumps(outcome._asdict()))
        return OK
    print(
        f"restored {arguments.database} as {copy}: {outcome.topics} topics, {outcome.records} records,"
        f" {outcome.changes} changes"
        + ("" if arguments.no_check else f"; checked {outcome.checked}, all equal")
        + (f", with {outcome.tables} sub-tables" if outcome.tables else "")
        + f"; {outcome.views} views, {outcome.groups} groups"
    )
    for name, reason in outcome.left_out.items():
        print(f"left out {name}: {reason}")
    return OK


def _settings(texts: list[str]) -> dict[str, str | None]:
    settings: dict[str, str | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--config {text!r} is not KEY=VALUE")
        settings[name] = value
    return settings
