"""The groups at one moment, for metrics and displays: their number, and the lag of each.

Rows are made a few groups at a time, so that the event loop is free in between, and bounded by
`kawal.metrics.group.partitions.max`; groups beyond it are counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.coordinators.group_lag import lag_of
from groups.show import SubscriptionRow

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.coordinators.groups import Groups
    from broker.loop.clock import Clock
    from broker.loop.slices import Steps

ROWS_PER_STEP: Final = 50
"""Partitions processed before other work gets a turn."""

GROUPS_PER_STEP: Final = 10
"""Groups with few partitions that count as many."""

NOTHING_COMMITTED: Final = -1


class GroupPartitionState(NamedTuple):
    """The progress of one group in one partition."""

    group: str
    topic: str
    partition: int
    offset: int
    """The next record to read, NOTHING_COMMITTED without progress."""
    lag_records: int
    lag_ms: int
    """Age of the first unread record; negative if it is not known."""


@dataclass(slots=True)
class GroupSnapshot:
    """The exposed state of groups."""

    counts: Counter[str] = field(default_factory=Counter)
    """`rebalances` so far, `members`, `offsets`, and groups by `type:state`."""
    partitions: list[GroupPartitionState] = field(default_factory=list)
    groups_left_out: int = 0
    held_partitions: int = 0
    """Partitions kept longer than their retention, for important groups."""

    def steps(self, groups: Groups, metadata: Metadata, clock: Clock, now_ms: int) -> Steps:
        """Fill the snapshot, yielding now and then; call it on the event loop."""
        with groups.step(now_ms) as coordinator:
            self.counts = coordinator.counts()
            group_ids = coordinator.group_ids()
        rows_max = metadata.config.kawal_metrics_group_partitions_max
        done = 0
        for number, group_id in enumerate(group_ids):
            if len(self.partitions) >= rows_max:
                self.groups_left_out = len(group_ids) - number
                break
            for row in islice(coordinator.progress(group_id, now_ms), rows_max - len(self.partitions)):
                self._add(metadata, row, clock.wall_ms(now_ms))
                done += 1
                if done >= ROWS_PER_STEP:
                    done = 0
                    yield
            done += ROWS_PER_STEP // GROUPS_PER_STEP
            if done >= ROWS_PER_STEP:
                done = 0
                yield

    def _add(self, metadata: Metadata, row: SubscriptionRow, wall_ms: int) -> None:
        topic = metadata.catalogue.find(row.topic)
        if topic is None or row.partition >= topic.partition_count:
            return
        partition = metadata.topics.here(topic, row.partition)
        if partition is None:
            return
        lag = lag_of(partition, row.offset, wall_ms)
        offset = NOTHING_COMMITTED if row.offset is None else row.offset
        state = GroupPartitionState(row.group_id, row.topic, row.partition, offset, lag.records, lag.age_ms)
        self.partitions.append(state)
