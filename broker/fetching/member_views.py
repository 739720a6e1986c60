"""The partitions of a fetch as its group sees them (broker/view_topics/member_view.py).

A group with `kawal.snapshot.enable` begins with a snapshot when it fetches at the start of a partition
without progress in it; the snapshot is forgotten when the group has read it, when the server restarts, or
when too many others are read.  A group that has read a part of a snapshot which is forgotten gets every
record from there on.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.coordinators.client_places import ClientPlaces
from broker.coordinators.member_reads import MemberReads
from broker.coordinators.read_settings import GroupRead
from broker.loop.loop import Loop
from broker.view_topics.key_snapshot import OVER_MANY, KeyBudget, KeySnapshot
from broker.view_topics.member_view import MemberView
from broker.view_topics.view_partition import ViewPartition

if TYPE_CHECKING:
    from broker.storage.partition import Partition

VIEWS_MAX: Final = 10_000
"""The partitions of groups that are remembered."""

Key = tuple[str, UUID, int]
"""A group, a topic and a partition of it."""


class MemberViews:
    """The partitions that groups with settings for reading have read last."""

    def __init__(self, loop: Loop, reads: MemberReads) -> None:
        """Begin with none; `reads` knows how far groups are."""
        self.budget = KeyBudget()
        self._loop = loop
        self._reads = reads
        self._views: OrderedDict[Key, MemberView] = OrderedDict()

    def __len__(self) -> int:
        return len(self._views)

    def view_of(self, partition: Partition, read: GroupRead, offset: int) -> MemberView | None:
        """Return the partition for a fetch from an offset; None if that is the partition itself."""
        settings = read.settings
        if not (settings.excludes or settings.packs_changes or settings.begins_with_snapshot):
            return None
        view = self._view(partition, read)
        if settings.begins_with_snapshot:
            self._follow(view, read, offset)
        if view.snapshot is None and not (settings.excludes or settings.packs_changes):
            return None
        return view

    def _view(self, partition: Partition, read: GroupRead) -> MemberView:
        key = read.group_id, partition.topic.topic_id, partition.index
        view = self._views.pop(key, None)
        if view is None or view.partition is not partition:
            # A topic that was reloaded has other partitions.
            self._forget(view)
            view = MemberView(self._loop, partition)
        view.excludes, view.packs_changes = read.settings.excludes, read.settings.packs_changes
        self._views[key] = view
        while len(self._views) > VIEWS_MAX:
            self._forget(self._views.popitem(last=False)[1])
        return view

    def _forget(self, view: MemberView | None) -> None:
        if view is not None and view.snapshot is not None:
            view.snapshot.close()

    def _follow(self, view: MemberView, read: GroupRead, offset: int) -> None:
        """Begin or end the snapshot that the group reads, as its offset says."""
        partition, snapshot = view.partition, view.snapshot
        start = partition.log_start
        if snapshot is not None and offset >= snapshot.end:
            snapshot.close()
            view.snapshot = None
        elif snapshot is not None and snapshot.noted < start:
            # Retention has deleted what was to be noted.
            snapshot.noted = start
        elif snapshot is None and offset == start and offset < view.high_watermark:
            committed = self._reads.position(read, partition)
            if committed is None or committed <= start:
                view.snapshot = KeySnapshot(
                    start, view.high_watermark, self.budget, over_many=_shows_many(partition)
                )


def _shows_many(partition: Partition) -> bool:
    return isinstance(partition, ViewPartition) and partition.definition.kind in OVER_MANY


class FetchMembership:
    """The settings for one fetch, by partition."""

    __slots__ = ("_reads", "_views")

    def __init__(self, views: MemberViews, reads: ClientPlaces) -> None:
        self._views = views
        self._reads = reads

    def view_of(self, partition: Partition, offset: int) -> MemberView | None:
        """Return the partition as the group sees it that has it; None if that is the partition itself."""
        read = self._read_of(partition)
        return None if read is None else self._views.view_of(partition, read, offset)

    def min_rows(self, partition: Partition) -> int:
        """Return how many records the partition's group waits for."""
        read = self._read_of(partition)
        return 0 if read is None else read.settings.min_rows

    def _read_of(self, partition: Partition) -> GroupRead | None:
        topic = partition.topic
        return self._reads.read_of(topic.topic_id, topic.name, partition.index)
