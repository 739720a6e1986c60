"""`kawal subscriptions`: the progress of all groups, as TDengine's SHOW SUBSCRIPTIONS."""

from __future__ import annotations

import argparse
import json
from typing import Any

from console.client import add_bootstrap
from console.group_rows import SUBSCRIPTION_COLUMNS, read_groups
from console.help import describe
from console.silence import told_of
from console.tables import Cell, table

SHOWN = (
    "topic",
    "group",
    "partition",
    "vnode",
    "consumer",
    "offset",
    "end",
    "lag",
    "lag_seconds",
    "rows",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Show how far the groups are: for each topic, group and partition its owner, the next offset to
        read, the end of the log, the lag in records and in seconds (the age of the first record not read),
        and the records that commits have passed since the server started.""",
        [
            ("subscriptions", "all groups"),
            ("subscriptions --topic orders", "the groups that read one topic, and their lag"),
            ("subscriptions --group billing --json", "one group, for a program"),
        ],
    )
    add_bootstrap(parser)
    parser.add_argument("--group", "-g", metavar="GROUP", action="append", help="only this group; repeatable")
    parser.add_argument("--topic", "-t", metavar="TOPIC", action="append", help="only this topic; repeatable")
    parser.add_argument("--json", action="store_true", help="print a JSON list with every column")


def run(arguments: argparse.Namespace) -> int:
    """Print the progress."""
    found = read_groups(arguments.bootstrap, arguments.group)
    rows = [row for row in found.subscriptions if arguments.topic is None or row["topic"] in arguments.topic]
    if arguments.json:
        print(json.dumps([{name: row[name] for name in SUBSCRIPTION_COLUMNS} for row in rows], indent=2))
    else:
        print(progress_table(rows) if rows else "no subscriptions")
    return told_of(found.silent)


def progress_table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table."""
    names = [name.upper().replace("_", " ") for name in SHOWN]
    return table(names, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[Cell]:
    seconds = row["lag_seconds"]
    shown = {**row, "lag_seconds": None if seconds is None else f"{seconds:.1f}"}
    return [shown[name] for name in SHOWN]
