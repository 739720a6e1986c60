"""`kawal topics`: list, create, describe, alter and delete topics of any Kafka broker."""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import Any

from console.admin import all_topics
from console.client import add_bootstrap, admin_client, listen_for_trouble, refusal
from console.errors import OK, CommandError, UsageError
from console.help import Actions, describe, int16, int32, utf8
from console.help import dispatch as run
from console.tables import table
from console.topic_tree import topic_text, topic_tree

__all__ = ["configure", "run"]

NO_SUCH_TOPIC = 3
TOPIC_EXISTS = 36


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "List, create, describe, alter and delete topics.",
        [
            ("topics list", "the topics of 127.0.0.1:9092"),
            ("topics create orders --partitions 8", "a topic of eight partitions"),
        ],
    )
    actions = Actions(parser)
    _configure_list(actions)
    _configure_create(actions)
    _configure_describe(actions)
    _configure_alter(actions)
    _configure_delete(actions)
    _configure_delete_records(actions)
    _configure_split(actions)


def _configure_list(actions: Actions) -> None:
    parser = actions.add(
        "list",
        summary="print the topics",
        description="Print the names of the topics, and with --long their partitions, too.",
        examples=[("topics list", "names, one a line"), ("topics list --long --internal", "all there are")],
        run=_list,
    )
    add_bootstrap(parser)
    parser.add_argument("--long", "-l", action="store_true", help="print partition counts and ids")
    parser.add_argument("--internal", action="store_true", help="print the broker's own topics, too")
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_create(actions: Actions) -> None:
    parser = actions.add(
        "create",
        summary="create topics",
        description="""Create topics.  Without --partitions and --replication-factor the server's defaults
            apply; the topic configurations are Kafka's.""",
        examples=[
            ("topics create orders payments", "two topics with the server's defaults"),
            ("topics create orders --partitions 8 --config retention.ms=86400000", "kept for one day"),
        ],
        run=_create,
    )
    _add_topics(parser)
    parser.add_argument(
        "--partitions", "-p", metavar="N", type=int32, default=-1, help="number of partitions"
    )
    parser.add_argument(
        "--replication-factor", metavar="N", type=int16, default=-1, help="number of replicas"
    )
    parser.add_argument(
        "--config", metavar="KEY=VALUE", action="append", default=[], help="topic configuration; repeatable"
    )
    parser.add_argument("--if-not-exists", action="store_true", help="a topic that exists is not an error")
    parser.add_argument("--validate-only", action="store_true", help="check, but create nothing")


def _configure_describe(actions: Actions) -> None:
    parser = actions.add(
        "describe",
        summary="show partitions, offsets and settings",
        description="""Show a topic's partitions with the offsets they hold, and the configurations that were
            set (with --all every one, with its source).""",
        examples=[
            ("topics describe orders", "partitions and offsets"),
            ("topics describe orders --all --json", "everything, for a program"),
            ("topics describe orders --tree", "what its partitions were split from"),
        ],
        run=_describe,
    )
    _add_topics(parser)
    parser.add_argument("--all", action="store_true", help="show every configuration, not only those set")
    parser.add_argument(
        "--tree", action="store_true", help="show partitions that split, and what they were split from"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _configure_alter(actions: Actions) -> None:
    parser = actions.add(
        "alter",
        summary="add partitions, change settings",
        description="""Add partitions to a topic, change its configurations, or both.  Partitions are never
            removed, and records stay where they are, but new records of a key may go to another partition.
            Everything is checked first; nothing is changed when something is refused.""",
        examples=[
            ("topics alter orders --partitions 12", "twelve partitions from now on"),
            (
                "topics alter orders --config retention.ms=3600000 --delete-config max.message.bytes",
                "settings",
            ),
            ("topics alter orders payments --partitions 12 --dry-run", "only check, for two topics"),
        ],
        run=_alter,
    )
    _add_topics(parser)
    parser.add_argument("--partitions", "-p", metavar="N", type=int32, help="number of partitions in all")
    parser.add_argument(
        "--config", metavar="KEY=VALUE", action="append", default=[], help="set a configuration; repeatable"
    )
    parser.add_argument(
        "--delete-config",
        metavar="KEY",
        action="append",
        default=[],
        help="go back to its default; repeatable",
    )
    parser.add_argument("--dry-run", action="store_true", help="check, but change nothing")


def _configure_delete(actions: Actions) -> None:
    parser = actions.add(
        "delete",
        summary="delete topics and their records",
        description="""Delete topics with all their records, at once and for good.  With --pattern the topics
            whose whole name matches a regular expression are listed, and deleted only with --yes; the
            broker's own topics never match.""",
        examples=[
            ("topics delete orders", "one topic"),
            ("topics delete a b --if-exists", "no error when one does not exist"),
            ("topics delete --pattern 'test-.*'", "list what would be deleted"),
            ("topics delete --pattern 'test-.*' --yes", "delete it"),
        ],
        run=_delete,
    )
    _add_topics(parser, count="*")
    parser.add_argument("--pattern", metavar="REGEX", help="the topics whose whole name matches")
    parser.add_argument(
        "--yes", action="store_true", help="delete what --pattern finds, and not only list it"
    )
    parser.add_argument(
        "--if-exists", action="store_true", help="a topic that does not exist is not an error"
    )


def _configure_delete_records(actions: Actions) -> None:
    parser = actions.add(
        "delete-records",
        summary="delete the oldest records of a topic",
        description="""Delete the records before a position, for good: the topic's offsets go on, and readers
            that were further back continue at the new log start or as their auto.offset.reset says.  A
            position is latest (all records), an offset, -N (all but the last N offsets of each partition), a
            time such as 2024-05-01T12:00:00Z or @MILLISECONDS.""",
        examples=[
            ("topics delete-records orders --before 2024-05-01", "what is older"),
            (
                "topics delete-records orders --before latest --partition 0 --dry-run",
                "only say what would go",
            ),
        ],
        run=_delete_records,
    )
    parser.add_argument("topic", metavar="TOPIC", type=utf8, help="the topic")
    add_bootstrap(parser)
    parser.add_argument("--before", metavar="POSITION", required=True, help="the first record that stays")
    parser.add_argument(
        "--partition",
        "-p",
        metavar="N",
        type=int32,
        action="append",
        default=[],
        help="only this; repeatable",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be deleted, and delete nothing"
    )


def _configure_split(actions: Actions) -> None:
    parser = actions.add(
        "split",
        summary="split a partition in two",
        description="""Split a partition of a topic with kawal.partition.autosplit.mode up or paused: a new
            partition takes a part of its keys from now on.  Groups get it when they have read what was
            written before.  With --all every partition is split, one after the other: then clients with
            Kafka's hash (murmur2) send each key to its partition, which costs the server least.""",
        examples=[
            ("topics split orders --partition 0", "one partition more"),
            ("topics split orders --all", "twice as many"),
            ("topics split orders -p 1 --bootstrap 10.0.0.5:9092", "on another server"),
        ],
        run=_split,
    )
    parser.add_argument("topic", metavar="TOPIC", type=utf8, help="the topic")
    add_bootstrap(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--partition", "-p", metavar="N", type=int32, help="the partition")
    which.add_argument("--all", action="store_true", help="all that were not split as often as others yet")


def _add_topics(parser: argparse.ArgumentParser, count: str = "+") -> None:
    parser.add_argument(
        "topics", metavar="TOPIC", type=utf8, nargs=count, help="a name; several may be given"
    )
    add_bootstrap(parser)


def _list(arguments: argparse.Namespace) -> int:
    rows = [
        (topic.name, len(topic.partitions), str(topic.topic_id) if topic.topic_id.int else None)
        for topic in sorted(all_topics(arguments.bootstrap), key=lambda topic: topic.name or "")
        if arguments.internal or not topic.is_internal
    ]
    if arguments.json:
        print(
            json.dumps(
                [{"name": name, "partitions": count, "id": id_} for name, count, id_ in rows], indent=2
            )
        )
    elif arguments.long:
        print(table(("TOPIC", "PARTITIONS", "ID"), rows))
    else:
        print("".join(f"{name}\n" for name, _, _ in rows), end="")
    return OK


def _create(arguments: argparse.Namespace) -> int:
    listen_for_trouble()
    topic = {
        "num_partitions": arguments.partitions,
        "replication_factor": arguments.replication_factor,
        "configs": dict(_setting(text) for text in arguments.config),
    }
    with admin_client(arguments.bootstrap) as client:
        answer = client.create_topics(
            dict.fromkeys(arguments.topics, topic), validate_only=arguments.validate_only, raise_errors=False
        )
    verb = "could be created" if arguments.validate_only else "created"
    forgiven = {TOPIC_EXISTS: "exists already"} if arguments.if_not_exists else {}
    return _report(answer["topics"], verb, forgiven)


def _delete(arguments: argparse.Namespace) -> int:
    if bool(arguments.topics) == bool(arguments.pattern):
        raise UsageError("give names of topics, or --pattern")
    listen_for_trouble()
    with admin_client(arguments.bootstrap) as client:
        topics = _matching(client, arguments.pattern) if arguments.pattern else arguments.topics
        if arguments.pattern and not arguments.yes:
            print("".join(f"would delete {topic}\n" for topic in topics), end="")
            print(f"{len(topics)} of the topics match; --yes deletes them", file=sys.stderr)
            return OK
        answer = client.delete_topics(topics, raise_errors=False) if topics else {"topics": []}
    forgiven = {NO_SUCH_TOPIC: "does not exist"} if arguments.if_exists else {}
    return _report(answer["topics"], "deleted", forgiven)


def _matching(client: Any, pattern: str) -> list[str]:
    """Return the topics whose whole name matches, without the broker's own.  Raises: UsageError."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern {pattern!r} is not a regular expression: {error}") from error
    found = client.describe_topics()
    return sorted(
        topic["name"] for topic in found if not topic["is_internal"] and wanted.fullmatch(topic["name"])
    )


def _delete_records(arguments: argparse.Namespace) -> int:
    from console.positions import parse_position
    from console.record_deletion import cuts_of, delete

    position = parse_position(arguments.before, "--before")
    listen_for_trouble()
    cuts = cuts_of(arguments.bootstrap, arguments.topic, position, arguments.partition)
    if not arguments.dry_run:
        delete(arguments.bootstrap, arguments.topic, cuts)
    heads = ("PARTITION", "START", "NEW START", "WOULD DELETE" if arguments.dry_run else "DELETED")
    print(table(heads, [(cut.partition, cut.start, cut.before, cut.before - cut.start) for cut in cuts]))
    return OK


def _alter(arguments: argparse.Namespace) -> int:
    from console.topic_changes import alter_topics

    return alter_topics(
        arguments.bootstrap,
        arguments.topics,
        partitions=arguments.partitions,
        sets=arguments.config,
        deletes=arguments.delete_config,
        dry_run=arguments.dry_run,
    )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--config {text!r} is not KEY=VALUE")
    return name, value


def _report(answers: list[dict[str, Any]], verb: str, forgiven: dict[int, str]) -> int:
    """Print what happened to each topic.  Raises: CommandError when one was refused."""
    refused = []
    for answer in answers:
        code, name = answer["error_code"], answer["name"]
        if code == 0:
            print(f"{verb} {name}" if verb != "could be created" else f"{name} {verb}")
        elif code in forgiven:
            print(f"{name} {forgiven[code]}")
        else:
            refused.append(f"{name!r}: {refusal(code, answer.get('error_message'))}")
    if refused:
        raise CommandError("; ".join(refused))
    return OK


def _split(arguments: argparse.Namespace) -> int:
    from console.split_trees import level_of, split_partition

    partitions = level_of(arguments.bootstrap, arguments.topic) if arguments.all else [arguments.partition]
    for partition in partitions:
        split_partition(arguments.bootstrap, arguments.topic, partition)
        print(f"split partition {partition} of {arguments.topic}")
    return OK


def _describe(arguments: argparse.Namespace) -> int:
    if arguments.tree:
        from console.split_trees import print_trees

        print_trees(arguments.bootstrap, arguments.topics, as_json=arguments.json)
        return OK
    listen_for_trouble()
    with admin_client(arguments.bootstrap) as client:
        found = client.describe_topics(arguments.topics)
        missing = [topic for topic in found if topic["error_code"]]
        if missing:
            raise CommandError(
                "; ".join(f"{topic['name']!r}: {refusal(topic['error_code'], None)}" for topic in missing)
            )
        trees = [topic_tree(client, topic, everything=arguments.all) for topic in found]
    if arguments.json:
        print(json.dumps(trees, indent=2))
    else:
        print("\n\n".join(topic_text(tree) for tree in trees))
    return OK
