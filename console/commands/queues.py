"""`kawal queues`: list and describe share groups, look at their records, give them back, reset and purge."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from console import queue_changes
from console.client import add_bootstrap, listen_for_trouble
from console.errors import OK, CommandError, UsageError
from console.group_reset import parse_topics
from console.help import Actions, describe, int32, int64
from console.help import dispatch as run
from console.positions import parse_position
from console.queue_rows import list_queues, read_queues, starts_of, summary_of
from console.queue_tables import described_text, listed_text
from console.tables import table

__all__ = ["configure", "run"]

PEEKED = 10
PEEKED_MAX = 10_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        """Show share groups (queues) and the records that their members have, and change where they are.
        list, describe and reset work with any Kafka broker that has share groups, and show what its APIs
        tell; the rest needs Kawal.""",
        [
            ("queues list", "the share groups, and what waits in each"),
            ("queues describe workers", "its members and partitions"),
            ("queues peek workers", "the records that come next, without taking them"),
        ],
    )
    actions = Actions(parser)
    _configure_list(actions)
    _configure_describe(actions)
    _configure_peek(actions)
    _configure_release(actions)
    _configure_reset(actions)
    _configure_purge(actions)


def _configure_list(actions: Actions) -> None:
    parser = actions.add(
        "list",
        summary="print the share groups",
        description="""Print the share groups: state, members, topics, records that members have (under way),
            the age of the oldest record that is not finished, and all that are not finished (backlog).""",
        examples=[("queues list", "all"), ("queues list --json", "for a program")],
        run=_list,
    )
    add_bootstrap(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_describe(actions: Actions) -> None:
    parser = actions.add(
        "describe",
        summary="show members and partitions",
        description="""Show the members of share groups and their progress in each partition.

            A member is Running while it fetches; Leaving when its session has ended and its heartbeats are
            not missed yet; then Exit if it left records to others, or Complete if it had finished all. Window
            is the most records that it asks for, pending those that it has, slots those it could have
            besides. Deliveries are the records not finished by the number of times they were delivered.""",
        examples=[
            ("queues describe workers", "one group"),
            ("queues describe workers billing --json", "two, for a program"),
        ],
        run=_describe,
    )
    parser.add_argument("groups", metavar="GROUP", nargs="+", help="a group id; several may be given")
    add_bootstrap(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_peek(actions: Actions) -> None:
    parser = actions.add(
        "peek",
        summary="print records under way and those that come next",
        description="""Print as JSON lines the first records of each partition that members have or that come
            next, with their state, deliveries and member.  Nothing is acquired, no delivery counted.""",
        examples=[
            ("queues peek workers", "ten of each partition"),
            ("queues peek workers --topic jobs:0 --max-messages 100 --state acquired", "what is under way"),
        ],
        run=_peek,
    )
    _add_group(parser)
    queue_changes.add_topics(parser)
    parser.add_argument("--state", choices=["acquired", "available"], help="only records in this state")
    parser.add_argument(
        "--max-messages",
        "-n",
        metavar="N",
        type=int64,
        default=PEEKED,
        help=f"records of each partition (default {PEEKED}, at most {PEEKED_MAX})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON lines, as always")


def _configure_release(actions: Actions) -> None:
    parser = actions.add(
        "release",
        summary="give back records that members have",
        description="""Give back the records that members have, at once, as if the members had released them:
            other members may have them then.  A record delivered for the last time is archived.""",
        examples=[
            ("queues release workers", "all that are under way"),
            ("queues release workers --member 5d1f…", "those of a member that hangs"),
            ("queues release workers --topic jobs --partition 0 --offset 1700", "one record"),
        ],
        run=_release,
    )
    _add_group(parser)
    parser.add_argument("--member", "-m", metavar="ID", help="only what this member has")
    parser.add_argument("--topic", "-t", metavar="TOPIC", help="only in this topic")
    parser.add_argument("--partition", "-p", metavar="P", type=int32, help="only in this partition of it")
    parser.add_argument("--offset", "-o", metavar="N", type=int64, help="only this record of the partition")
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_reset(actions: Actions) -> None:
    parser = actions.add(
        "reset",
        summary="set where a share group goes on",
        description="""Set where a share group without members goes on; all that it knows of records is
            dropped.  Without --yes nothing is changed; what would change is shown.  A group that does not
            exist is made if topics are named.""",
        examples=[
            ("queues reset workers --to earliest", "show what starting over would mean"),
            ("queues reset workers --to 2026-05-01T12:00:00Z --topic jobs --yes", "since a time"),
        ],
        run=_reset,
    )
    _add_group(parser)
    queue_changes.add_topics(parser)
    parser.add_argument(
        "--to",
        metavar="POSITION",
        required=True,
        help="earliest, latest, an offset, a time, -N before the end",
    )
    _add_yes(parser)


def _configure_purge(actions: Actions) -> None:
    parser = actions.add(
        "purge",
        summary="finish all records that are there",
        description="""Archive all records up to the end of each partition, also those that members have: what
            these say of them later is ignored.  The topic keeps its records.  Without --yes nothing is
            changed; what would be archived is shown.""",
        examples=[
            ("queues purge workers", "show how many records that would be"),
            ("queues purge workers --topic jobs --yes", "empty the queue of one topic"),
        ],
        run=_purge,
    )
    _add_group(parser)
    queue_changes.add_topics(parser)
    _add_yes(parser)


def _add_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="the group id")
    add_bootstrap(parser)


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="make the change")
    parser.add_argument("--json", action="store_true", help="print a JSON list")


# --- the actions --------------------------------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    rows = [summary_of(row) for row in list_queues(arguments.bootstrap)]
    print(json.dumps(rows, indent=2) if arguments.json else listed_text(rows))
    return OK


def _describe(arguments: argparse.Namespace) -> int:
    rows = read_queues(arguments.bootstrap, arguments.groups)
    print(json.dumps(rows, indent=2) if arguments.json else "\n\n".join(map(described_text, rows)))
    return OK


def _peek(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.max_messages <= PEEKED_MAX:
        raise UsageError(f"--max-messages must be from 1 to {PEEKED_MAX}")
    from console.queue_lines import print_peeked  # and msgspec, which the others do not need

    topics = parse_topics(arguments.topic)
    trouble = listen_for_trouble()
    print_peeked(
        sys.stdout.buffer,
        arguments.bootstrap,
        arguments.group,
        topics,
        count=arguments.max_messages,
        state=arguments.state,
        trouble=trouble,
    )
    return OK


def _release(arguments: argparse.Namespace) -> int:
    if arguments.partition is not None and arguments.topic is None:
        raise UsageError("--partition needs --topic")
    if arguments.offset is not None and arguments.partition is None:
        raise UsageError("--offset needs --topic and --partition")
    if min(arguments.partition or 0, arguments.offset or 0) < 0:
        raise UsageError("--partition and --offset must be at least 0")
    chosen = None if arguments.partition is None else {arguments.partition}
    rows = queue_changes.released(
        arguments.bootstrap,
        arguments.group,
        {} if arguments.topic is None else {arguments.topic: chosen},
        member_id=arguments.member,
        offset=arguments.offset,
    )
    return _print_changed(arguments, rows, "given back")


def _reset(arguments: argparse.Namespace) -> int:
    topics, bootstrap, group = parse_topics(arguments.topic), arguments.bootstrap, arguments.group
    position = parse_position(arguments.to, "--to")
    current = starts_of(bootstrap, group)
    if not current and not topics:
        raise CommandError(
            f"share group {group!r} does not exist, or has read nothing: name topics with --topic"
        )
    moves = queue_changes.planned(bootstrap, current, topics, position)
    if arguments.yes and moves:
        queue_changes.move(bootstrap, group, moves)
    if arguments.json:
        print(json.dumps([change._asdict() for change in moves], indent=2))
    else:
        print(table(("TOPIC", "PARTITION", "CURRENT", "NEW"), moves))
        _say_preview(arguments)
    return OK


def _purge(arguments: argparse.Namespace) -> int:
    topics = parse_topics(arguments.topic)
    if arguments.yes:
        rows = queue_changes.purged(arguments.bootstrap, arguments.group, topics)
        return _print_changed(arguments, rows, "archived")
    (row,) = read_queues(arguments.bootstrap, [arguments.group])
    places = queue_changes.chosen_places(row, topics)
    rows = [
        {
            "topic": partition["topic"],
            "partition": partition["partition"],
            "under_way": partition["acquired"],
            "records": partition["backlog"],
        }
        for partition in row["partitions"]
        if (partition["topic"], partition["partition"]) in places
    ]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        _print_rows(rows)
        _say_preview(arguments)
    return OK


def _print_changed(arguments: argparse.Namespace, rows: list[dict[str, Any]], what: str) -> int:
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return OK
    changed = [row for row in rows if row["records"]]
    if changed:
        _print_rows(changed)
    print(f"{sum(row['records'] for row in rows)} records {what}")
    return OK


def _print_rows(rows: list[dict[str, Any]]) -> None:
    names = list(rows[0]) if rows else ["topic", "partition", "records"]
    headings = [name.upper().replace("_", " ") for name in names]
    print(table(headings, [[row[name] for name in names] for row in rows]))


def _say_preview(arguments: argparse.Namespace) -> None:
    if not arguments.yes:
        print("nothing was changed; --yes does it")
