"""The share coordinator: the state of all share-partitions, kept in __share_group_state.

It is a pure state machine like the group coordinator (groups/coordinator.py), with the same driver. Kafka
keeps the records in flight beside the partition's leader, and sends their states to a coordinator (APIs 83 to
87). Here both are one, beside the partition's leader; the driver has records stored by the node that leads
their partition of __share_group_state, and that node keeps what is stored, unserved.

    initialize(key, start)            makes a share-partition; every other method needs it
    acquire(key, …)                   gives records to a member, until their lock runs out
    acknowledge(key, …, answer)       answers when the new states are durable
    take_freed()                      share-partitions that may be acquirable again, for fetches that wait
    take_archiving()                  share-partitions with records that wait for their dead letters
    archive(key, ranges, answer)      ends that, once the dead letters are stored

A change counts when it is durable; until then its records are neither delivered nor acknowledged, and they
are acquired again if it could not be stored. So what is answered survives a crash, and no record is lost:
one that was acquired is available after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import Final, NamedTuple

from groups.context import InternalError
from groups.discarding import discard_shares
from groups.effects import Effects, EncodedRecord, Stamp
from groups.errors import NotLoaded
from groups.share.acknowledgements import Acknowledgement
from groups.share.config import ShareConfig
from groups.share.counts import GroupCounts
from groups.share.delivery import Limits, Portion, Wish
from groups.share.found import Acquired, Found
from groups.share.record_range import StoredRange
from groups.share.share_partition import SharePartition
from groups.share.state_records import ShareKey, encode_snapshot
from groups.share.states import Cause, RecordState
from groups.share.table import EXPIRED_PER_TICK, Answer, ShareTable, no_answer
from groups.share.topic_removal import forget_missing, topics_deleted
from groups.topics import Topics
from protocol.error_codes import ErrorCode

TIMERS_PER_TICK: Final = 25
"""The timers run at once; each looks at the locks of one share-partition."""


class Released(NamedTuple):
    """The number of records that a member no longer has, and whether it has others in the share-partition."""

    records: int
    has_more: bool


class ShareCoordinator:
    """All share-partitions of this node."""

    def __init__(
        self,
        *,
        config: ShareConfig,
        topics: Topics,
        limits: Callable[[str], Limits],
        wall_ms: Callable[[int], int],
        leads: Callable[[ShareKey], bool] = lambda _: True,
    ) -> None:
        """Make a coordinator that has loaded nothing yet.

        `limits(group_id)` returns the settings of a group that bound its deliveries, at every use; `leads` as
        in ShareTable.
        """
        self._topics = topics
        self.table = ShareTable(config, limits, wall_ms, leads)
        """All share-partitions, for what keeps the states of those that other nodes serve."""

    def _at(self, now_ms: int) -> ShareTable:
        self.table.now_ms = now_ms
        return self.table

    # --- the driver's side ----------------------------------------------------------------------------------

    def take_effects(self) -> list[Effects]:
        """Return what must be appended now, in this order."""
        return self.table.journal.take()

    def durable(self, effects: Effects, now_ms: int) -> None:
        """Report that the records of `effects`, and all before them in their partition, are on the disk."""
        self._at(now_ms).journal.durable(effects, now_ms)

    def failed(self, effects: Effects, error: ErrorCode, now_ms: int) -> None:
        """Report that the records of `effects`, and all after them in their partition, will not be stored."""
        self._at(now_ms).journal.failed(effects, error, now_ms)

    def tick(self, now_ms: int) -> None:
        """Take back records whose locks have run out, some of them if they are very many."""
        table = self._at(now_ms)
        table.expiring_max = EXPIRED_PER_TICK
        table.timers.run_due(now_ms, table.timer_failed, at_most=TIMERS_PER_TICK)

    def take_internal_errors(self) -> list[InternalError]:
        """Return the errors of our own in timers; the partitions that they name are replayed."""
        errors, self.table.internal_errors = self.table.internal_errors, []
        return errors

    def next_deadline(self) -> int | None:
        """Return the monotonic moment of the next `tick`; it may be early, never late."""
        return self.table.timers.next_deadline()

    def configure(self, config: ShareConfig) -> None:
        """Use other settings from now on; the number of partitions must stay the same."""
        old, self.table.config = self.table.config.share_coordinator_state_topic_num_partitions, config
        assert config.share_coordinator_state_topic_num_partitions == old
        self.table.ranges.look_for_room()

    def take_freed(self) -> list[ShareKey]:
        """Return the share-partitions that may have become acquirable since the last call."""
        return self.table.take_freed()

    def take_archiving(self) -> list[ShareKey]:
        """Return the share-partitions with records that have begun to wait for dead letters since then."""
        return self.table.take_archiving()

    def counts_of(self, group_id: str) -> GroupCounts:
        """Return the counters of a group, for reading."""
        return self.table.counts_of(group_id)

    def topics_changed(
        self, now_ms: int, *, created: Collection[str], deleted: Collection[str], grown: Collection[str]
    ) -> None:
        """Forget the share-partitions of deleted topics."""
        if deleted:
            topics_deleted(self._at(now_ms), lambda: self._topics.by_id)

    # --- loading --------------------------------------------------------------------------------------------

    def replay(self, partition: int, key: bytes | memoryview, value: bytes | memoryview | None) -> tuple[()]:
        """Apply one stored record of a partition that is being loaded.  Raises: ProtocolError."""
        self.table.replay(partition, key, value)
        return ()

    def needs_module(self, _key: bytes | memoryview) -> str:
        """Return "": all modules are there."""
        return ""

    def replay_staged(
        self, partition: int, stamp: Stamp, key: bytes | memoryview, value: bytes | memoryview | None
    ) -> None:
        """No record of this topic is part of a transaction: one that a client wrote is ignored."""

    def replay_end(self, partition: int, producer_id: int, *, commit: bool) -> tuple[()]:
        """Likewise."""
        return ()

    def loaded(self, partitions: Collection[int], now_ms: int) -> None:
        """Serve these partitions; share-partitions of topics deleted meanwhile are forgotten."""
        table = self._at(now_ms)
        table.loaded.update(partitions)
        for partition in partitions:
            forget_missing(table, table.of_partition(partition), self._topics.by_id)
            table.loaded_partition(partition)

    def leave_to_others(self, partitions: Collection[int]) -> None:
        """Have what is written to these partitions stored by other nodes, which lead them."""
        self.table.elsewhere = frozenset(partitions)

    def unload(self, partitions: Collection[int], now_ms: int) -> None:
        """Forget these partitions; acknowledgements on their way are refused."""
        table = self._at(now_ms)
        table.loaded.difference_update(partitions)
        for partition in partitions:
            table.forget(partition)
        table.journal.abandon(partitions, ErrorCode.NOT_COORDINATOR, now_ms)

    def discard(self, now_ms: int) -> Generator[None, None, None]:
        """Forget everything in steps; requests that wait are refused."""
        return discard_shares(self._at(now_ms))

    def is_whole(self, partition: int) -> bool:
        """Whether a partition is served; one with records that cannot be read is not."""
        return partition in self.table.loaded

    def snapshot(self, partition: int, records_max: int = 1_000) -> Iterator[list[EncodedRecord]]:
        """Yield the present state of a partition in lists, each to be appended before the next step.

        A share-partition counts as many records as it has ranges: a list takes no longer for them.
        """
        table = self.table
        records: list[EncodedRecord] = []
        size = 0
        for key in [share.key for share in table.of_partition(partition)]:
            share = table.shares.get(key)
            if share is None:
                continue
            snapshot = table.snapshot(share)
            records.append(encode_snapshot(key, snapshot))
            size += 1 + len(snapshot.ranges)
            if size >= records_max:
                yield records
                records, size = [], 0
        yield records

    # --- share-partitions -----------------------------------------------------------------------------------

    def find(self, key: ShareKey) -> SharePartition | None:
        """Return a share-partition, for reading, if it exists.  Raises: NotLoaded."""
        share = self.table.find(key)
        return None if share is None else share.partition

    def known(self, key: ShareKey) -> SharePartition:
        """Return a share-partition that exists, for reading.  Raises: NotLoaded, GroupNotFound."""
        return self.table.known(key).partition

    def partition_of(self, key: ShareKey) -> int:
        """Return the partition of __share_group_state that holds a share-partition."""
        known = self.table.shares.get(key)
        return self.table.partition(key) if known is None else known.home

    def keys_of(self, group_id: str) -> list[ShareKey]:
        """Return the share-partitions of a group."""
        return self.table.of_group(group_id)

    def all_keys_of(self, group_id: str) -> list[ShareKey]:
        """Return the share-partitions of a group, of which none is still to be loaded.  Raises: NotLoaded."""
        table = self.table
        if len(table.loaded) < table.config.share_coordinator_state_topic_num_partitions:
            raise NotLoaded
        return table.of_group(group_id)

    def held_by(self, group_id: str, member_id: str) -> int:
        """Return the number of records that a member has, in all partitions."""
        shares, keys = self.table.shares, self.table.of_group(group_id)
        return sum(shares[key].partition.held_by(member_id) for key in keys if key in shares)

    @property
    def room(self) -> int:
        """The number of share-partitions that may be made yet."""
        return self.table.room

    def initialize(self, key: ShareKey, start: int, answer: Answer, now_ms: int) -> None:
        """Make a share-partition that begins at an offset, unless there is one.  Raises: GroupError."""
        table = self._at(now_ms)
        known = table.find(key)
        if known is not None:
            table.answer_after(known.home, answer)
        else:
            table.replace(key, SharePartition(start), answer, epoch=0)

    def reset(self, key: ShareKey, start: int, answer: Answer, now_ms: int) -> None:
        """Let a share-partition begin at another offset; all that is known of its records is dropped.

        Raises: NotLoaded.
        """
        table = self._at(now_ms)
        known = table.find(key)
        if known is None:
            table.replace(key, SharePartition(start), answer, epoch=0)
        else:
            partition = SharePartition(start, known.partition.state_epoch + 1)
            table.replace(key, partition, answer, epoch=known.epoch + 1)

    def delete(self, key: ShareKey, answer: Answer, now_ms: int) -> None:
        """Forget a share-partition.  Raises: NotLoaded."""
        table = self._at(now_ms)
        share = table.find(key)
        if share is None:
            table.answer_after(table.partition(key), answer)
        else:
            table.delete(share, answer)

    def acquire(
        self, key: ShareKey, wish: Wish, found: Found, now_ms: int, portion: Portion | None = None
    ) -> list[Acquired]:
        """Give a member the records of a read that are available; `portion` as in SharePartition.acquire.

        Raises: NotLoaded, GroupNotFound if the share-partition does not exist.
        """
        table = self._at(now_ms)
        share = table.known(key)
        if table.ranges.holds_back(key, share.partition):
            if portion is not None:
                portion.is_full = True
            return []
        start = share.partition.start
        acquired = share.partition.acquire(wish, table.limits(key.group_id), found, now_ms, portion)
        if share.partition.start > start:
            # What the log did not have made room for records beyond the window.
            table.note_freed(key)
        table.ranges.recount(share)
        if acquired:
            table.counts_of(key.group_id).delivered(acquired)
        if acquired or found.later:
            table.arm(share)
        return acquired

    def acknowledge(
        self,
        key: ShareKey,
        member_id: str,
        batches: Sequence[Acknowledgement],
        answer: Answer,
        now_ms: int,
    ) -> None:
        """Do what a member says of its records, all of it or nothing; answer when that is durable.

        Raises: NotLoaded, GroupNotFound, InvalidRequest, InvalidRecordState.
        """
        table = self._at(now_ms)
        share = table.known(key)
        limits = table.limits(key.group_id)
        change = share.partition.acknowledge(member_id, batches, limits, now_ms, table.ranges)
        table.store(share, change, answer)

    def release(
        self, key: ShareKey, member_id: str, answer: Answer, now_ms: int, count_max: int | None = None
    ) -> Released:
        """Take back what a member has, or so many ranges of it: its session was closed.

        Raises: NotLoaded, GroupNotFound.
        """
        table = self._at(now_ms)
        share = table.known(key)
        change = share.partition.release(member_id, table.limits(key.group_id), now_ms, count_max)
        table.store(share, change, answer)
        count = 0 if change is None else change.events.total()
        return Released(count, has_more=share.partition.held_by(member_id) > 0)

    def take_over(
        self, key: ShareKey, member_ids: Collection[str], count_max: int, answer: Answer, now_ms: int
    ) -> int:
        """Take back records of members that sit idle; return how many of them others may have then.

        Raises: NotLoaded, GroupNotFound.
        """
        table = self._at(now_ms)
        share = table.known(key)
        change = share.partition.take_over(member_ids, count_max, table.limits(key.group_id), now_ms)
        if change is None:
            return 0
        table.store(share, change, answer)
        return sum(
            part.last - part.first + 1 for part in change.ranges if part.state == RecordState.AVAILABLE
        )

    def purge(self, key: ShareKey, end: int, answer: Answer, now_ms: int) -> int:
        """Finish all records before an offset, in work or not, and return how many there were.

        What members say of them afterwards is ignored.
        Raises: NotLoaded, GroupNotFound.
        """
        table = self._at(now_ms)
        share = table.known(key)
        end = max(end, share.partition.end)
        count = end - share.partition.start - share.partition.finished_count()
        if not count:
            table.answer_after(share.home, answer)
            return 0

        def told(code: ErrorCode) -> None:
            if code == ErrorCode.NONE:
                table.counts_of(key.group_id).archived += count
            answer(code)

        self.reset(key, end, told, now_ms)
        return count

    def archiving(self, key: ShareKey) -> list[StoredRange]:
        """Return the records that wait for their dead letters; none if the share-partition was deleted.

        Raises: NotLoaded.
        """
        share = self.table.find(key)
        return [] if share is None else list(share.partition.archiving())

    def best(self, key: ShareKey, member_id: str, now_ms: int) -> tuple[int, int] | None:
        """Return the largest class of the records that a member may have, and the first of these.

        Raises: NotLoaded, GroupNotFound.
        """
        return self._at(now_ms).known(key).partition.best(member_id, now_ms)

    def give_up(self, key: ShareKey, ranges: Sequence[tuple[int, int]], cause: Cause, now_ms: int) -> None:
        """Give up available records, in a group whose at_limit is TAIL.  Raises: NotLoaded, GroupNotFound."""
        table = self._at(now_ms)
        share = table.known(key)
        change = share.partition.give_up(ranges, cause)
        if change is not None:
            table.store(share, change, no_answer)

    def archive(self, key: ShareKey, ranges: Sequence[tuple[int, int]], answer: Answer, now_ms: int) -> None:
        """Archive records whose dead letters are stored, or in the log before this.

        Raises: NotLoaded, GroupNotFound.
        """
        table = self._at(now_ms)
        share = table.known(key)
        table.store(share, share.partition.archive(ranges), answer)

    def move_log_start(self, key: ShareKey, offset: int, now_ms: int) -> None:
        """Forget what the log of a partition no longer has.  Raises: NotLoaded, GroupNotFound."""
        self._at(now_ms).move_log_start(key, offset)
