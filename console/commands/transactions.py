"""`kawal transactions`: list, describe and abort transactions, and find those that hang."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from typing import Any

from console import transaction_admin
from console.client import add_bootstrap
from console.errors import OK, UsageError
from console.help import Actions, describe, int32, int64
from console.help import dispatch as run
from console.tables import table

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "Show transactions, and end those that their producers do not end.",
        [
            ("transactions list --state Ongoing", "the transactions that are open"),
            ("transactions describe billing-1", "one of them, with its partitions"),
            ("transactions hanging", "those that nothing will ever end"),
        ],
    )
    actions = Actions(parser)
    _declare_list(actions)
    _declare_describe(actions)
    _declare_hanging(actions)
    _declare_abort(actions)


def _declare_list(actions: Actions) -> None:
    parser = actions.add(
        "list",
        summary="list transactional ids and their states",
        description="List the transactional ids that the coordinator knows, with producer id and state.",
        examples=[
            ("transactions list", "all"),
            ("transactions list --state Ongoing --longer-than 60", "open for more than a minute"),
        ],
        run=_list,
    )
    parser.add_argument("--state", metavar="STATE", action="append", help="only this state; repeatable")
    parser.add_argument(
        "--longer-than", metavar="SECONDS", type=int64, help="only those that began longer ago than this"
    )
    parser.add_argument("--id-pattern", metavar="REGEX", help="only ids that match as a whole (RE2)")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_bootstrap(parser)


def _declare_describe(actions: Actions) -> None:
    parser = actions.add(
        "describe",
        summary="show transactions with their partitions",
        description="Show the state, producer, timeout, start and partitions of transactional ids.",
        examples=[
            ("transactions describe billing-1 billing-2", "two of them"),
            ("transactions describe billing-1 --json", "for a program"),
        ],
        run=_describe,
    )
    parser.add_argument("transactional_id", metavar="ID", nargs="+", help="transactional id")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_bootstrap(parser)


def _declare_hanging(actions: Actions) -> None:
    parser = actions.add(
        "hanging",
        summary="find transactions that nothing will ever end",
        description="""Find transactions that are open in a partition although the coordinator does not know
            them: readers of committed data stop before them. `transactions abort` ends one.""",
        examples=[
            ("transactions hanging", "in all topics"),
            ("transactions hanging --topic orders", "in one"),
        ],
        run=_hanging,
    )
    parser.add_argument("--topic", "-t", metavar="TOPIC", help="look at this topic only")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_bootstrap(parser)


def _declare_abort(actions: Actions) -> None:
    parser = actions.add(
        "abort",
        summary="abort a transaction",
        description="""Abort the open transaction of a transactional id, and fence its producer; or abort one
            that hangs in a partition, named by the offset at which it begins there.""",
        examples=[
            ("transactions abort billing-1", "fence the producer, too"),
            ("transactions abort --topic orders --partition 2 --start-offset 1700", "one that hangs"),
        ],
        run=_abort,
    )
    parser.add_argument("transactional_id", metavar="ID", nargs="?", help="transactional id")
    parser.add_argument("--topic", "-t", metavar="TOPIC", help="topic of the partition in which one hangs")
    parser.add_argument("--partition", "-p", metavar="NUMBER", type=int32, help="that partition")
    parser.add_argument("--start-offset", metavar="OFFSET", type=int64, help="where the transaction begins")
    add_bootstrap(parser)


def _list(arguments: argparse.Namespace) -> int:
    longer_ms = -1 if arguments.longer_than is None else 1000 * arguments.longer_than
    rows = transaction_admin.listed(
        arguments.bootstrap,
        states=arguments.state or (),
        longer_than_ms=longer_ms,
        pattern=arguments.id_pattern,
    )
    return _print(arguments, rows, "no transactions")


def _describe(arguments: argparse.Namespace) -> int:
    rows = transaction_admin.described(arguments.bootstrap, arguments.transactional_id)
    return _print(arguments, rows, "no transactions")


def _hanging(arguments: argparse.Namespace) -> int:
    found = transaction_admin.hanging(arguments.bootstrap, arguments.topic)
    return _print(arguments, [row._asdict() for row in found], "no transaction hangs")


def _abort(arguments: argparse.Namespace) -> int:
    place = (arguments.topic, arguments.partition, arguments.start_offset)
    if (arguments.transactional_id is None) == (None in place) or (
        arguments.transactional_id is not None and place != (None, None, None)
    ):
        raise UsageError("give a transactional id, or --topic, --partition and --start-offset")
    if arguments.transactional_id is not None:
        transaction_admin.abort(arguments.bootstrap, arguments.transactional_id)
        print(f"transaction of {arguments.transactional_id} aborted, its producer fenced")
    else:
        found = transaction_admin.abort_hanging(arguments.bootstrap, *place)
        print(f"transaction of producer {found.producer_id} in {found.topic}-{found.partition} aborted")
    return OK


def _print(arguments: argparse.Namespace, rows: list[dict[str, Any]], nothing: str) -> int:
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif not rows:
        print(nothing)
    else:
        headings = [name.upper().removesuffix("_MS").replace("_", " ") for name in rows[0]]
        print(table(headings, [[_cell(name, value) for name, value in row.items()] for row in rows]))
    return OK


def _cell(name: str, value: Any) -> str | int | None:
    if name in ("start_ms", "last_timestamp_ms"):
        if value < 0:
            return None
        return datetime.fromtimestamp(value / 1000, tz=UTC).isoformat(timespec="milliseconds")
    if isinstance(value, list):
        return ",".join(value) or None
    return value  # type: ignore[no-any-return]
