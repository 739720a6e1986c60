"""Share groups as their operators see them: the records of each partition by state, a slice at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from broker.catalogue.metadata import Metadata
from broker.coordinators.group_lag import age_of
from broker.coordinators.share_settings import share_reading
from broker.fetching.share_places import end_of, find_partition
from broker.storage.partition import Partition
from groups.errors import GroupNotFound
from groups.share.share_partition import SharePartition
from groups.share.show import Totals, totals_of
from groups.share.state_records import ShareKey

if TYPE_CHECKING:
    from broker.coordinators.shares import Shares
    from groups.coordinator import Coordinator
    from groups.share.share_group import ShareGroup


class Place(NamedTuple):
    """A topic in which a group has states, and its partitions."""

    topic_id: UUID
    name: str
    partitions: list[int]


class Progress(NamedTuple):
    """The state of a group in a partition."""

    start: int
    """The first record that is not finished."""
    next_offset: int
    """The first record that was never looked at."""
    end: int
    """The end up to which the group may read."""
    totals: Totals
    """The records between start and next offset."""
    oldest_ms: int
    """The age of the first record that is not finished, 0 without one; UNKNOWN_AGE if the log cannot tell."""

    @property
    def available(self) -> int:
        """The number of records that could be delivered now."""
        return self.totals.available + max(self.end - self.next_offset, 0)


def group_of(coordinator: Coordinator, group_id: str, now_ms: int) -> ShareGroup:
    """Return a share group.  Raises: NotLoaded, CoordinatorNotAvailable, GroupNotFound."""
    share = coordinator.share(now_ms)
    share.check_loaded(group_id)
    group = share.groups.get(group_id)
    if group is None:
        raise GroupNotFound(f"Group {group_id} is not a share group, or does not exist.")
    return group


def places_of(group: ShareGroup, metadata: Metadata) -> Iterator[Place]:
    """Yield the topics that a group has now, if they exist when they are yielded: it may have 20,000."""
    initialized = tuple(group.initialized.items())
    return (
        Place(topic_id, topic.name, sorted(topic.partitions))
        for topic_id, topic in initialized
        if metadata.catalogue.find_id(topic_id) is not None
    )


def find_share(
    metadata: Metadata, shares: Shares, key: ShareKey, now_ms: int
) -> tuple[Partition, SharePartition]:
    """Return a partition, and a group's progress in it, without what the log has lost.

    Raises: RequestError, NotLoaded, GroupNotFound.
    """
    partition = find_partition(metadata, (key.topic_id, key.partition))
    with shares.step(now_ms) as machine:
        machine.move_log_start(key, partition.log_start, now_ms)
        found = machine.find(key)
    assert found is not None
    return partition, found


def read_end(metadata: Metadata, group_id: str, partition: Partition) -> int:
    """Return the end up to which a group may read a partition."""
    return end_of(partition, read_committed=share_reading(metadata, group_id).read_committed)


def progress_of(
    metadata: Metadata, shares: Shares, key: ShareKey, *, now_ms: int, wall_ms: int
) -> Generator[None, None, Progress]:
    """Return the state of a group in a partition; yield where there is much to look at.

    Raises: RequestError, NotLoaded, GroupNotFound.
    """
    partition, share = find_share(metadata, shares, key, now_ms)
    totals = yield from totals_of(share)
    end = read_end(metadata, key.group_id, partition)
    oldest_ms = age_of(partition, share.start, wall_ms) if share.start < end else 0
    return Progress(share.start, share.end, end, totals, oldest_ms)


def keys_of(group_id: str, place: Place) -> Iterator[ShareKey]:
    """Yield the names of a group's states in a topic."""
    return (ShareKey(group_id, place.topic_id, index) for index in place.partitions)
