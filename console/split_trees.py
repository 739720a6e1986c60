"""Partitions that split: `kawal topics split`, and the tree of `kawal topics describe --tree`."""

from __future__ import annotations

import json
from typing import Any

from console.admin import check
from console.errors import CommandError
from console.tables import Cell, table
from console.wire import ask
from protocol.messages.kawal_topics import (
    KawalTopicsRequest,
    SplitPartition,
    TopicAction,
    TopicItem,
    TopicResult,
)

HEADS = ("PARTITION", "STATE", "FROM", "START", "END", "KEYS", "BYTES/S", "NOTE")


def split_partition(bootstrap: str, topic: str, partition: int) -> None:
    """Split a partition.  Raises: CommandError with the server's sentence."""
    item = TopicItem(name=topic, partition=partition)
    (answer,) = ask(bootstrap, KawalTopicsRequest(action=TopicAction.SPLIT, topics=[item])).topics
    check(answer.error_code, answer.error_message, topic)


def level_of(bootstrap: str, topic: str) -> list[int]:
    """Return the partitions to be split, in order, to double their number.  Raises: CommandError."""
    active = [row for row in tree_rows(bootstrap, topic) if row.end < 0]
    if any(row.low == row.high for row in active):
        return [row.partition for row in active if row.low < row.high]
    return list(rest_of_level(len(active), sum(row.parent < 0 for row in active)))


def tree_rows(bootstrap: str, topic: str) -> list[SplitPartition]:
    """Return the parts of a topic's partitions.  Raises: CommandError, also for one that does not split."""
    request = KawalTopicsRequest(action=TopicAction.DESCRIBE, topics=[TopicItem(name=topic)])
    (answer,) = ask(bootstrap, request).topics
    check(answer.error_code, answer.error_message, topic)
    if not answer.tree:
        raise CommandError(_not_splitting(topic))
    return list(answer.tree)


def rest_of_level(count: int, roots: int) -> range:
    """Return the partitions that are left to be split of a level that was begun, or of the next one."""
    before = roots << (count // roots).bit_length() - 1
    return range(count - before, before)


def _not_splitting(name: str) -> str:
    return f"{name!r} has no partitions that split: kawal.partition.autosplit.mode is disabled"


def print_trees(bootstrap: str, names: list[str], *, as_json: bool) -> None:
    """Print the partition trees of topics.  Raises: CommandError, also for topics that do not split."""
    items = [TopicItem(name=name) for name in names]
    answers = ask(bootstrap, KawalTopicsRequest(action=TopicAction.DESCRIBE, topics=items)).topics
    for answer in answers:
        check(answer.error_code, answer.error_message, answer.name)
        if not answer.tree:
            raise CommandError(_not_splitting(answer.name))
    if as_json:
        print(json.dumps([tree_of(answer) for answer in answers], indent=2))
    else:
        print("\n\n".join(tree_text(answer) for answer in answers))


def tree_of(topic: TopicResult) -> dict[str, Any]:
    """Return a tree for programs; offsets and speeds that do not exist are null."""
    return {
        "name": topic.name,
        "partitions": [
            {
                "partition": row.partition,
                "active": row.end < 0,
                "parent": None if row.parent < 0 else row.parent,
                "parent_cut": None if row.parent < 0 else row.parent_cut,
                "start_offset": row.start,
                "cut": None if row.end < 0 else row.end,
                "root": row.root,
                "first_place": row.low,
                "end_place": row.high,
                "bytes_per_second": None if row.bytes_per_second < 0 else row.bytes_per_second,
                "not_split": row.why_not or None,
            }
            for row in topic.tree
        ],
    }


def tree_text(topic: TopicResult) -> str:
    """Return a tree for people."""
    return f"topic {topic.name}\n" + table(HEADS, [cells_of(row) for row in topic.tree])


def cells_of(row: SplitPartition) -> tuple[Cell, ...]:
    """Return a part of a partition as a row of HEADS; None where there is nothing to tell."""
    return (
        row.partition,
        "active" if row.end < 0 else "inactive",
        None if row.parent < 0 else f"{row.parent} at {row.parent_cut}",
        row.start,
        None if row.end < 0 else row.end,
        f"{row.root}:{row.low:08x}-{row.high:08x}",
        None if row.bytes_per_second < 0 else row.bytes_per_second,
        row.why_not or None,
    )
