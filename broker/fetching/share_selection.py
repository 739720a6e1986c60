"""The records of batches that a share group is given, by its own settings and those of the topic.

Without such settings nothing here is called for a batch.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from broker.catalogue.metadata import Metadata
from broker.config.deleted_records import deleted_in, without
from broker.coordinators.share_settings import QueueSettings
from broker.fetching.record_choice import Choice, Moment, choice_of, choose
from broker.loop.slices import Offload, Until, in_thread
from broker.storage.partition import Partition
from groups.share.delivery import Limits
from groups.share.found import Found
from groups.share.state_records import ShareKey
from groups.share.states import AtLimit, Cause

if TYPE_CHECKING:
    from broker.coordinators.shares import Shares


class Selection:
    """The selection of one fetch: its settings, and the moment at which it reads."""

    def __init__(
        self,
        metadata: Metadata,
        shares: Shares,
        settings: QueueSettings,
        *,
        limits: Limits,
        offload: Offload,
        clocks: tuple[int, int],
    ) -> None:
        """`clocks`: the present on the monotonic clock and on the wall clock, in ms."""
        self._metadata = metadata
        self._shares = shares
        self._limits = limits
        self._offload = offload
        self._now_ms, self._wall_ms = clocks
        self._choice: Choice | None = choice_of(settings) if settings.chooses else None

    @property
    def looks_at_headers(self) -> bool:
        """Whether batches are opened."""
        return self._choice is not None

    @property
    def has_classes(self) -> bool:
        """Whether records are given out by class."""
        return self._choice is not None and self._choice.classes > 1

    def is_needed(self, partition: Partition) -> bool:
        """Whether anything is selected in a partition."""
        if self._choice is not None or self._limits.in_flight_bytes_max:
            return True
        return bool(self._metadata.topics.settings(partition.topic).kawal_share_deleted)

    def select(
        self, key: ShareKey, partition: Partition, found: Found, batches: Sequence[memoryview]
    ) -> Generator[Until | None, None, Found]:
        """Return what the group is given of these batches, whose offsets are in `found`.

        Expired records are given up, in groups with dead letters.
        """
        offsets = found.batches
        if self._choice is not None:
            found = yield from self._chosen(self._choice, key, partition, found, batches)
        deleted = self._metadata.topics.settings(partition.topic).kawal_share_deleted
        if deleted:
            ranges = deleted_in(deleted, partition.index)
            later = [part for part in found.later if without([(part.first, part.last)], ranges)]
            found = found._replace(batches=without(found.batches, ranges), later=later)
        return self.sized(found, offsets, batches)

    def select_known(
        self, key: ShareKey, partition: Partition, found: Found, batches: Sequence[memoryview]
    ) -> Generator[Until | None, None, Found]:
        """Return what may still be delivered of records, of any class, that were looked at before.

        Times, a filter or deletions may have made a difference since; where there are none, all may.
        """
        choice, offsets = self._choice, found.batches
        deleted = self._metadata.topics.settings(partition.topic).kawal_share_deleted
        if deleted or (choice is not None and (choice.is_timed or choice.filter is not None)):
            found = yield from self.select(key, partition, found, batches)
            of_classes = ((part.first, part.last) for part in found.later if not part.until_ms)
            later = [part for part in found.later if part.until_ms]
            found = found._replace(batches=sorted((*found.batches, *of_classes)), later=later)
        return self.sized(found, offsets, batches)

    def sized(self, found: Found, offsets: Sequence[tuple[int, int]], batches: Sequence[memoryview]) -> Found:
        """Return the same with the mean sizes of records, if the group limits bytes."""
        if not self._limits.in_flight_bytes_max:
            return found
        sizes = _mean_sizes(found.batches, offsets, [len(batch) for batch in batches])
        return found._replace(record_bytes=sizes)

    def _chosen(
        self,
        choice: Choice,
        key: ShareKey,
        partition: Partition,
        found: Found,
        batches: Sequence[memoryview],
    ) -> Generator[Until | None, None, Found]:
        ttl_ms = self._metadata.topics.settings(partition.topic).kawal_share_ttl_ms
        moment = Moment(self._now_ms, self._wall_ms, ttl_ms)
        chosen = yield from in_thread(self._offload, lambda: choose(batches, found.batches, choice, moment))
        if chosen.expired and self._limits.at_limit == AtLimit.TAIL:
            with self._shares.step(self._now_ms) as machine:
                machine.give_up(key, chosen.expired, Cause.EXPIRED, self._now_ms)
        return found._replace(batches=chosen.ranges, later=chosen.later)


def _mean_sizes(
    ranges: Sequence[tuple[int, int]], offsets: Sequence[tuple[int, int]], sizes_bytes: Sequence[int]
) -> list[int]:
    """Return the mean size of a record in the batch of each range; all are in order."""
    sizes: list[int] = []
    number = 0
    for first, _ in ranges:
        while offsets[number][1] < first:
            number += 1
        low, high = offsets[number]
        sizes.append(max(sizes_bytes[number] // (high - low + 1), 1))
    return sizes
