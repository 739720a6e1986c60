"""The gates of share groups in topics whose partitions split (groups/split_gates.py).

A share group gets a child when it has done with all records of the parent before the cut. Then it has a state
in the child, and keeps it: it is not taken away again. A new group that begins with new records gets all
partitions at once, as nothing of what it reads was written before a split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from groups.context import Context
from groups.share.share_group import ShareGroup

if TYPE_CHECKING:
    from groups.partition_tree import Split

NOTHING: frozenset[int] = frozenset()


def share_withheld(context: Context, group: ShareGroup, name: str, topic_id: UUID) -> frozenset[int]:
    """Return the partitions of a topic that the group does not get yet."""
    if not context.splits.topics or name not in context.splits.topics:
        return NOTHING
    tree = context.splits.topics[name].tree
    facts, group_id = context.splits, group.group_id
    if tree is None or (topic_id not in group.initialized and facts.shares_from_end(group_id)):
        return NOTHING

    def is_past(split: Split) -> bool:
        position = facts.share_position(group_id, name, split.parent)
        return position is not None and facts.is_read(name, split, position)

    found: set[int] = set()
    successors_open: bool | None = None  # asked once, as each successor comes after all of them
    for split in tree.splits:
        if group.is_initialized(topic_id, split.child) or facts.is_forced(name, split):
            continue
        if split.is_succession:
            if successors_open is None:
                successors_open = all(map(is_past, tree.successions))
            is_open = successors_open
        else:
            is_open = split.parent not in found and is_past(split)
        if not is_open:
            found.add(split.child)
    return frozenset(found)


def holds_back(context: Context, group: ShareGroup) -> bool:
    """Whether the group subscribes to a topic with a partition in which it has no state yet."""
    if not context.splits.topics:
        return False
    known = context.topics.by_name
    for name in group.names:
        if name in context.splits.topics and name in known:
            topic = known[name]
            held = group.initialized.get(topic.topic_id)
            if held is None or len(held.partitions) < topic.partition_count:
                return True
    return False
