"""The partition tree of a topic for those who look at it: active partitions, and what came before a split.

The part of a partition before a split is inactive: it can be read only. It is shown as long as retention has
left something of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.messages.kawal_topics import SplitPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from broker.storage.partition import Partition
    from broker.upkeep.partition_load import PartitionLoad
    from groups.partition_tree import PartitionTree

SPLITS_PER_STEP = 300
"""Splits and rows between two looks at the time, at 10 µs."""

NO_END = -1
"""The end of an active partition."""


def tree_rows(
    tree: PartitionTree,
    partition_of: Callable[[int], Partition],
    load_of: Callable[[Partition], tuple[PartitionLoad, int] | None],
) -> Generator[None, None, list[SplitPartition]]:
    """Make the rows of a tree, by partition and offset, in steps; `load_of` returns a load and its rate."""
    end = tree.places_end
    rows = {index: SplitPartition(partition=index, root=index, high=end) for index in range(tree.root_count)}
    inactive: list[SplitPartition] = []
    for number, split in enumerate(list(tree.splits)):
        if number % SPLITS_PER_STEP == SPLITS_PER_STEP - 1:
            yield
        parent = rows[split.parent]
        before = SplitPartition(
            partition=split.parent,
            parent=parent.parent,
            parent_cut=parent.parent_cut,
            start=parent.start,
            end=split.cut,
            low=parent.low,
            high=parent.high,
            root=parent.root,
        )
        inactive.append(before)
        rows[split.child] = SplitPartition(
            partition=split.child,
            parent=split.parent,
            parent_cut=split.cut,
            low=split.bound,
            high=parent.high,
            root=parent.root,
        )
        parent.start, parent.high = split.cut, split.bound
    found = [*inactive, *rows.values()]
    for number, row in enumerate(found):
        if number % SPLITS_PER_STEP == SPLITS_PER_STEP - 1:
            yield
        partition = partition_of(row.partition)
        row.start = max(row.start, partition.log_start)
        if row.end == NO_END and (known := load_of(partition)) is not None:
            row.bytes_per_second, row.why_not = known[1], known[0].why_not
    yield
    closed: set[int] = set()
    for split in tree.successions:
        if partition_of(split.parent).topic.outlet_of(split.parent) == split.parent:
            rows[split.parent].why_not = f"its keys go to partition {split.child}"
        else:
            closed.add(split.parent)
    for row in inactive:
        if row.partition in closed:
            row.why_not = f"closed for partition {tree.root_count + row.partition}"
    left = [row for row in found if (row.end == NO_END) != (row.partition in closed) or row.start < row.end]
    return sorted(left, key=lambda row: (row.partition, row.start))
