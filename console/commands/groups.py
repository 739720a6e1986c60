"""`kawal groups`: list, describe, reset and delete consumer groups of any Kafka broker."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from console.client import add_bootstrap, admin_client, consumer_client, listen_for_trouble, meaning
from console.commands.subscriptions import progress_table
from console.errors import OK, CommandError, UsageError
from console.group_reset import Move, add_target, moves, parse_topics, read_offsets
from console.group_rows import read_groups
from console.help import Actions, describe, utf8
from console.help import dispatch as run
from console.positions import extents_of
from console.silence import told_of
from console.tables import table

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        """List, describe, reset and delete consumer groups.  See also `kawal consumers` and
        `kawal subscriptions`, which show all groups at once.""",
        [
            ("groups list", "the groups, with their state"),
            ("groups describe billing", "members, offsets and lag"),
            ("groups reset-offsets billing --to earliest --all-topics", "what starting over would mean"),
        ],
    )
    actions = Actions(parser)
    _configure_list(actions)
    _configure_describe(actions)
    _configure_reset(actions)
    _configure_delete(actions)


def _configure_list(actions: Actions) -> None:
    parser = actions.add(
        "list",
        summary="print the groups",
        description="Print the groups with their type (classic or consumer) and state.",
        examples=[
            ("groups list", "all groups"),
            ("groups list --state Empty", "groups without members"),
        ],
        run=_list,
    )
    add_bootstrap(parser)
    parser.add_argument("--state", metavar="STATE", help="only groups in this state, for example Empty")
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_describe(actions: Actions) -> None:
    parser = actions.add(
        "describe",
        summary="show members, offsets and lag",
        description="Show the members of groups and how far each is in every partition.",
        examples=[
            ("groups describe billing", "one group"),
            ("groups describe billing audit --json", "two, for a program"),
        ],
        run=_describe,
    )
    _add_groups(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_reset(actions: Actions) -> None:
    parser = actions.add(
        "reset-offsets",
        summary="set where a group continues to read",
        description="""Set the committed offsets of a group that has no members.  Without --execute nothing
            is changed; what would change is shown.""",
        examples=[
            ("groups reset-offsets billing --all-topics --to earliest", "show what starting over would mean"),
            (
                "groups reset-offsets billing --topic orders --to 2026-05-01T12:00:00Z --execute",
                "since a time",
            ),
            ("groups reset-offsets billing --topic orders:0,3 --shift-by -100 --execute", "100 records back"),
            (
                "groups reset-offsets billing --all-topics --by-duration 1h30m --execute",
                "the last 90 minutes",
            ),
        ],
        run=_reset,
    )
    parser.add_argument("group", metavar="GROUP", type=utf8, help="the group id")
    add_bootstrap(parser)
    parser.add_argument(
        "--topic",
        "-t",
        metavar="TOPIC[:P,P…]",
        type=utf8,
        action="append",
        default=[],
        help="topic; repeatable",
    )
    parser.add_argument("--all-topics", action="store_true", help="every topic with committed offsets")
    add_target(parser)
    parser.add_argument("--execute", action="store_true", help="make the change")
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_delete(actions: Actions) -> None:
    parser = actions.add(
        "delete",
        summary="delete groups, or their offsets in topics",
        description="""Delete groups that have no members, with all their committed offsets.  With --topic
            only the offsets in these topics are deleted.""",
        examples=[
            ("groups delete billing audit", "two groups"),
            ("groups delete billing --topic orders", "its progress in one topic"),
        ],
        run=_delete,
    )
    _add_groups(parser)
    parser.add_argument(
        "--topic",
        "-t",
        metavar="TOPIC[:P,P…]",
        type=utf8,
        action="append",
        default=[],
        help="topic; repeatable",
    )


def _add_groups(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "groups", metavar="GROUP", type=utf8, nargs="+", help="a group id; several may be given"
    )
    add_bootstrap(parser)


def _list(arguments: argparse.Namespace) -> int:
    listen_for_trouble()
    with admin_client(arguments.bootstrap) as client:
        found = sorted(client.list_groups(), key=lambda group: group["group_id"])
    rows = [
        (
            group["group_id"],
            group.get("group_type") or None,
            group.get("group_state") or None,
            group["protocol_type"],
        )
        for group in found
        if arguments.state is None or group.get("group_state", "").lower() == arguments.state.lower()
    ]
    names = ("group", "type", "state", "protocol")
    if arguments.json:
        print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2))
    elif rows:
        print(table([name.upper() for name in names], rows))
    else:
        print("no groups")
    return OK


def _describe(arguments: argparse.Namespace) -> int:
    listen_for_trouble()
    states = _states(arguments.bootstrap)
    for group in arguments.groups:
        if group not in states:
            raise CommandError(f"group {group!r} does not exist; 'kawal groups list' shows those that do")
    rows = read_groups(arguments.bootstrap, arguments.groups)
    trees = [
        {
            "group": group,
            "type": states[group].get("group_type") or None,
            "state": states[group].get("group_state") or None,
            "consumers": [row for row in rows.consumers if row["group"] == group],
            "subscriptions": [row for row in rows.subscriptions if row["group"] == group],
        }
        for group in arguments.groups
    ]
    print(json.dumps(trees, indent=2) if arguments.json else "\n\n".join(map(_text, trees)))
    return told_of(rows.silent)


def _states(bootstrap: str) -> dict[str, dict[str, Any]]:
    with admin_client(bootstrap) as client:
        return {group["group_id"]: group for group in client.list_groups()}


def _text(tree: dict[str, Any]) -> str:
    parts = [f"group {tree['group']}   type {tree['type'] or '-'}   state {tree['state'] or '-'}"]
    if tree["consumers"]:
        shown = [
            (
                member["consumer"],
                member["client_id"],
                member["host"],
                member["status"],
                ",".join(member["topics"]),
            )
            for member in tree["consumers"]
        ]
        parts.append(table(("CONSUMER", "CLIENT ID", "HOST", "STATUS", "TOPICS"), shown))
    parts.append(progress_table(tree["subscriptions"]) if tree["subscriptions"] else "nothing committed")
    return "\n".join(parts)


def _reset(arguments: argparse.Namespace) -> int:
    topics = parse_topics(arguments.topic)
    if bool(topics) + arguments.all_topics + (arguments.from_file is not None) != 1:
        raise UsageError("name the partitions by exactly one of --topic, --all-topics and --from-file")
    listen_for_trouble()
    state = _states(arguments.bootstrap).get(arguments.group, {}).get("group_state", "Dead")
    if arguments.execute and state not in ("Empty", "Dead"):
        raise CommandError(
            f"group {arguments.group!r} is {state}: stop its consumers first, or they commit over it"
        )
    with admin_client(arguments.bootstrap) as client, consumer_client(arguments.bootstrap) as consumer:
        committed = _committed(client, arguments.group) if state != "Dead" else {}
        places = _places(arguments, topics, committed, consumer)
        current = {place: committed.get(place) for place in places}
        plan = moves(arguments, current, extents_of(places, consumer), consumer)
        if arguments.execute:
            _commit(client, arguments.group, plan)
    _show_plan(arguments, plan)
    return OK


def _committed(client: Any, group: str) -> dict[Any, int]:
    found = client.list_group_offsets({group: None})[group]
    return {place: committed.offset for place, committed in found.items() if committed.offset >= 0}


def _places(
    arguments: argparse.Namespace,
    topics: dict[str, set[int] | None],
    committed: dict[Any, int],
    consumer: Any,
) -> list[Any]:
    from kafka import TopicPartition

    if arguments.from_file is not None:
        return [TopicPartition(*place) for place in read_offsets(arguments.from_file)]
    if arguments.all_topics:
        topics = dict.fromkeys({place.topic for place in committed})
        if not topics:
            raise CommandError(f"group {arguments.group!r} has committed nothing; name topics with --topic")
    places = []
    for name, chosen in topics.items():
        known = consumer.partitions_for_topic(name)
        if not known:
            raise CommandError(f"topic {name!r} does not exist")
        if unknown := sorted((chosen or set()) - known):
            raise CommandError(f"topic {name!r} has partitions 0 to {max(known)}, not {unknown[0]}")
        places += [TopicPartition(name, index) for index in sorted(chosen or known)]
    return places


def _commit(client: Any, group: str, plan: list[Move]) -> None:
    from kafka import TopicPartition
    from kafka.structs import OffsetAndMetadata

    offsets = {
        TopicPartition(move.topic, move.partition): OffsetAndMetadata(move.new, "", -1) for move in plan
    }
    answer = client.alter_group_offsets(group, offsets)
    refused = [
        f"{place.topic}-{place.partition}: {meaning(error)}"
        for place, error in answer.items()
        if getattr(error, "errno", 0)
    ]
    if refused:
        raise CommandError(f"group {group!r}: {'; '.join(refused)}")


def _show_plan(arguments: argparse.Namespace, plan: list[Move]) -> None:
    if arguments.json:
        print(json.dumps([asdict(move) for move in plan], indent=2))
        return
    rows = [(move.topic, move.partition, move.current, move.new) for move in plan]
    print(table(("TOPIC", "PARTITION", "CURRENT", "NEW"), rows))
    if not arguments.execute:
        print("nothing was changed; --execute does it")


def _delete(arguments: argparse.Namespace) -> int:
    topics = parse_topics(arguments.topic)
    listen_for_trouble()
    refused: list[str] = []
    with admin_client(arguments.bootstrap) as client:
        if topics:
            for group in arguments.groups:
                refused += _delete_offsets(client, group, topics)
        else:
            for group, outcome in client.delete_groups(arguments.groups).items():
                if outcome == "OK":
                    print(f"deleted {group}")
                else:
                    refused.append(f"{group!r}: {_named(outcome)}")
    if refused:
        raise CommandError("; ".join(refused))
    return OK


def _delete_offsets(client: Any, group: str, topics: dict[str, set[int] | None]) -> list[str]:
    committed = _committed(client, group)
    places = [
        place
        for place in sorted(committed)
        if place.topic in topics and place.partition in (topics[place.topic] or {place.partition})
    ]
    if not places:
        return [f"{group!r}: nothing is committed in {', '.join(topics)}"]
    refused = []
    for place, error in client.delete_group_offsets(group, places).items():
        if getattr(error, "errno", 0):
            refused.append(f"{group!r}, {place.topic}-{place.partition}: {meaning(error)}")
        else:
            print(f"deleted {group} {place.topic}-{place.partition} (offset {committed[place]})")
    return refused


def _named(name: str) -> str:
    from kafka import errors

    kind = getattr(errors, name, None)
    return name if kind is None else meaning(kind)
