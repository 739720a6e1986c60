"""`kawal consumers`: the members of all groups, as TDengine's SHOW CONSUMERS."""

from __future__ import annotations

import argparse
import json

from console.client import add_bootstrap
from console.group_rows import CONSUMER_COLUMNS, read_groups
from console.help import describe
from console.silence import told_of
from console.tables import Cell, table

SHOWN = ("group", "consumer", "client_id", "host", "status", "topics", "subscribed", "rebalanced", "idle")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Show the consumers of all groups or of some: their ids and hosts, what they read, whether they are
        ready, rebalancing or lost, and how long they have been idle (sending heartbeats, but neither fetching
        nor committing offsets).  A lost consumer is shown for ten minutes.

        Of a broker that is not Kawal, only what Kafka's protocol tells is shown.""",
        [
            ("consumers", "all consumers"),
            ("consumers --group billing --json", "all columns of one group's consumers, for a program"),
        ],
    )
    add_bootstrap(parser)
    parser.add_argument("--group", "-g", metavar="GROUP", action="append", help="only this group; repeatable")
    parser.add_argument("--json", action="store_true", help="print a JSON list with every column")


def run(arguments: argparse.Namespace) -> int:
    """Print the consumers."""
    found = read_groups(arguments.bootstrap, arguments.group)
    rows = found.consumers
    if arguments.json:
        print(json.dumps([{name: row[name] for name in CONSUMER_COLUMNS} for row in rows], indent=2))
    elif rows:
        print(table([name.upper().replace("_", " ") for name in SHOWN], [_cells(row) for row in rows]))
    else:
        print("no consumers")
    return told_of(found.silent)


def _cells(row: dict[str, object]) -> list[Cell]:
    topics = row["topics"]
    assert isinstance(topics, list)
    idle = row["idle_seconds"]
    shown = {**row, "topics": ",".join(topics), "idle": None if idle is None else f"{idle:.0f} s"}
    return [None if shown[name] is None else str(shown[name]) for name in SHOWN]
