"""The gates of groups in topics whose partitions split: what was before a split is read first.

    parent P [0, cut) --split--> P [cut, ...) and child [0, ...)

A group gets a child when it has read the parent up to the cut, that is when it has committed so, or when
retention has deleted what is before the cut; and its parent as well, if that is a child itself. A group that
goes back to before the cut gives the child up again. A successor (groups/partition_tree.py) comes after all
partitions that there were when it was made. So each key is read in order, and after a crash as well:
what is read again is what was not committed, and no partition after it has been given out by then.

What is withheld is left out of assignments. It is looked at again when the group commits in such a topic, and
every few seconds as long as something is withheld. Members that assign partitions to themselves, without a
group, are not held back; nothing in Fetch tells them from others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from groups.context import Context
from groups.offset_values import NO_EXPIRY, NO_LEADER_EPOCH, Committed, offset_of

if TYPE_CHECKING:
    from groups.partition_tree import PartitionTree, Split

NOTHING: Final[frozenset[int]] = frozenset()


def withheld(context: Context, group_id: str, name: str) -> frozenset[int]:
    """Return the partitions of a topic that a consumer group does not get yet."""
    topic = context.splits.topics.get(name)
    if topic is None or topic.tree is None:
        return NOTHING
    committed = context.offsets.topics(group_id).get(name, {})

    def is_past(split: Split) -> bool:
        value = committed.get(split.parent)
        return context.splits.is_read(name, split, None if value is None else offset_of(value))

    found: set[int] = set()
    successors_open = all(map(is_past, topic.tree.successions))
    for split in topic.tree.splits:
        is_after_all = split.is_succession
        is_open = successors_open if is_after_all else split.parent not in found and is_past(split)
        if not is_open and not context.splits.is_forced(name, split):
            found.add(split.child)
    if found:
        context.look_again(group_id)
    return frozenset(found)


def withheld_by_topic(context: Context, group_id: str, names: Collection[str]) -> dict[str, frozenset[int]]:
    """Return what is withheld of these topics; without those of which nothing is."""
    if not context.splits.topics:
        return {}
    # Without a line of Python for names of other topics: a member may have 20,000.
    known = filter(context.splits.topics.__contains__, names)
    found = {name: withheld(context, group_id, name) for name in known}
    return {name: partitions for name, partitions in found.items() if partitions}


def places_of(closed: Mapping[str, frozenset[int]]) -> frozenset[tuple[str, int]]:
    """Return what is withheld as topics and partitions."""
    return frozenset((name, index) for name, indexes in closed.items() for index in indexes)


def begins_at(context: Context, group_id: str, name: str, partition: int) -> Committed | None:
    """Return where a group without progress in a child begins there: at its start, if it has read the parent.

    With auto.offset.reset=latest it would else leave out what came between the split and its assignment.
    """
    topic = context.splits.topics.get(name)
    if topic is None or topic.tree is None or topic.tree.made_by(partition) is None:
        return None
    if not has_ancestor_in(topic.tree, partition, context.offsets.topics(group_id).get(name, {})):
        return None
    return Committed(context.splits.log_start(name, partition), NO_LEADER_EPOCH, "", 0, NO_EXPIRY)


def has_ancestor_in(tree: PartitionTree, partition: int, known: Collection[int]) -> bool:
    """Whether a partition came, in one step or several, from one of the known partitions."""
    if not known:
        return False
    split = tree.made_by(partition)
    while split is not None and not split.is_succession and split.parent not in known:
        split = tree.made_by(split.parent)
    if split is None:
        return False
    return not split.is_succession or any(each.parent in known for each in tree.successions)
