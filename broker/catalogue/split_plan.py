"""The effects of a record that splits a partition (groups/partition_tree.py).

planned     clients do not see the new partition, and nothing is written to the topic
durable     it is there, and takes its part of the keys
lost        as if the split had never been asked for
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from broker.catalogue.catalogue_records import PartitionSplit, PartitionsRenewed
from groups.partition_tree import PartitionTree, Split

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic


class Growth(Protocol):
    """The planned change that adds the new partition."""

    @property
    def confirm(self) -> Callable[[], object]:
        """The action for when it is durable."""

    @property
    def undo(self) -> Callable[[], object]:
        """The action for when it is lost."""


def tree_of(topic: Topic) -> PartitionTree:
    """Return the topic's tree; a new one has the present partitions as roots."""
    return topic.tree if topic.tree is not None else PartitionTree(topic.planned_count)


def splits_of(record: PartitionSplit | PartitionsRenewed) -> tuple[Split, ...]:
    """Return the splits that a record makes."""
    if isinstance(record, PartitionSplit):
        return (split_of(record),)
    first = record.growth.first_partition
    return tuple(
        Split(index, first + index, cut, 0, record.at_ms, record.epoch)
        for index, cut in enumerate(record.cuts)
    )


def split_of(record: PartitionSplit) -> Split:
    """Return the split that a record makes."""
    return Split(
        record.parent, record.growth.first_partition, record.cut, record.bound, record.at_ms, record.epoch
    )


def plan_split(
    topic: Topic, record: PartitionSplit | PartitionsRenewed, growth: Growth
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Plan splits whose new partitions are planned; return what to do when they are durable, or lost."""
    before, home, home_from, splits = topic.tree, topic.home, topic.home_from, splits_of(record)
    tree = before or PartitionTree(splits[0].child)
    topic.tree, tree.pending = tree, splits[0]
    topic.home = topic.vnode_index(splits[0].parent)
    if isinstance(record, PartitionsRenewed):
        topic.home_from = splits[0].child

    def confirm() -> None:
        growth.confirm()
        tree.pending = None
        for split in splits:
            tree.apply(split)
            if split.epoch and (parent := topic.partitions.get(split.parent)) is not None:
                parent.begin_epoch(split.epoch)

    def undo() -> None:
        growth.undo()
        tree.pending = None
        topic.tree, topic.home, topic.home_from = before, home, home_from

    return confirm, undo
