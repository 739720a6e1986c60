"""The share groups at one moment, for metrics: their counters, and the records that members have.

A scrape looks at every range of records of the groups shown, some at a time, so that the event loop is free
in between. Groups beyond `kawal.metrics.share.groups.max` are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.coordinators.group_lag import UNKNOWN_AGE
from broker.errors import RequestError
from broker.fetching.share_progress import Place, Progress, keys_of, places_of, progress_of
from groups.errors import GroupError
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.coordinators.groups import Groups
    from broker.coordinators.shares import Shares
    from broker.loop.clock import Clock
    from broker.loop.slices import Steps

ITEMS_PER_STEP: Final = 10
"""Groups and partitions with few ranges that are looked at before other work gets a turn."""


class ShareGroupState(NamedTuple):
    """A share group at one moment."""

    group: str
    members: int
    under_way: int
    """The records that members have."""
    oldest_ms: int
    """The age of the oldest record that is not finished; negative if it is not known."""
    counters: dict[str, int]
    """By name, since the server's start (groups/share/counts.py)."""


@dataclass(slots=True)
class ShareSnapshot:
    """The exposed state of share groups."""

    groups: list[ShareGroupState] = field(default_factory=list)
    left_out: int = 0
    ranges_bytes: int = 0
    """The memory of all records in flight."""
    refused: int = 0
    """The acknowledgements refused for lack of it, since the server's start."""
    states_bytes: int = 0
    """The memory of all share-partitions."""

    def steps(self, metadata: Metadata, groups: Groups, shares: Shares, clock: Clock, now_ms: int) -> Steps:
        """Fill the snapshot, yielding now and then; call it on the event loop."""
        with groups.step(now_ms) as coordinator:
            group_ids = sorted(coordinator.share(now_ms).groups)
        table = shares.machine.table
        self.ranges_bytes, self.refused = table.ranges.size_bytes, table.ranges.refused
        self.states_bytes = table.size_bytes
        shown = group_ids[: metadata.config.kawal_metrics_share_groups_max]
        self.left_out = len(group_ids) - len(shown)
        done = 0
        for group_id in shown:
            with groups.step(now_ms) as coordinator:
                group = coordinator.share(now_ms).groups.get(group_id)
                if group is None:
                    continue
                places, members = places_of(group, metadata), len(group.members)
            under_way, oldest_ms = 0, UNKNOWN_AGE
            for found in _progress(metadata, shares, group_id, places, clock, now_ms):
                done += 1
                if found is None or not done % ITEMS_PER_STEP:
                    yield
                if found is not None:
                    under_way += found.totals.acquired
                    oldest_ms = max(oldest_ms, found.oldest_ms)
            done += 1
            if not done % ITEMS_PER_STEP:
                yield
            with shares.step(now_ms) as machine:
                counters = machine.counts_of(group_id).as_dict()
            self.groups.append(ShareGroupState(group_id, members, under_way, oldest_ms, counters))


def _progress(
    metadata: Metadata, shares: Shares, group_id: str, places: Iterator[Place], clock: Clock, now_ms: int
) -> Iterator[Progress | None]:
    """Yield the state of each partition that has one, and None where there is much to look at."""
    for place in places:
        for key in keys_of(group_id, place):
            try:
                found = yield from progress_of(
                    metadata, shares, key, now_ms=now_ms, wall_ms=clock.wall_ms(now_ms)
                )
            except (GroupError, RequestError, WalError, DiskError):
                # Being deleted, loaded or repaired: the next scrape shows it.
                continue
            yield found
