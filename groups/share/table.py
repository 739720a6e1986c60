"""The share-partitions of a node, and the way of their changes to the log."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from groups.context import InternalError
from groups.effects import Done, EncodedRecord, Journal, Undo
from groups.errors import CoordinatorNotAvailable, GroupNotFound, NotCoordinator, NotLoaded, append_error
from groups.share.config import ShareConfig
from groups.share.counts import GroupCounts
from groups.share.delivery import Limits
from groups.share.range_room import RangeRoom
from groups.share.record_range import Change
from groups.share.share_index import ShareIndex
from groups.share.share_partition import SharePartition
from groups.share.state_records import (
    ShareKey,
    Snapshot,
    Update,
    decode_state,
    encode_deletion,
    encode_snapshot,
    encode_update,
    state_partition,
)
from groups.share.states import RecordState
from groups.timers import TimerKey, Timers
from protocol.error_codes import ErrorCode

Answer = Callable[[ErrorCode], None]
"""Called once, with NONE when all is durable, or else the reason why nothing has changed."""

RETRY_MS: Final = 1_000
"""The delay before locks that ran out are looked at again, if that could not be stored."""

EXPIRED_PER_TICK: Final = 500
"""The ranges whose locks run out at a time, in 2 to 3 ms: a share-partition can have 10,000 that were
acquired at one moment."""

SHARE_BYTES: Final = 1_300
"""The memory of a share-partition without records in flight (measured, with its place in tables)."""

_ROOM: Final = TimerKey("room", "")

LEADER_EPOCH: Final = 0
"""The epoch of the partition's leader in records: a stream stays on its node."""


class Share:
    """One share-partition in the table, and how far its records have come."""

    __slots__ = ("counted", "created_ms", "epoch", "home", "is_kept", "key", "partition", "timer", "updates")

    def __init__(
        self,
        key: ShareKey,
        partition: SharePartition,
        *,
        home: int,
        epoch: int,
        created_ms: int,
        is_kept: bool = False,
    ) -> None:
        self.key = key
        self.partition = partition
        # Whether another node leads its partition: it serves it, and only what it has stored is here.
        self.is_kept = is_kept
        # The partition of __share_group_state that holds it.
        self.home = home
        # The number of its last snapshot, and the changes that were written since.
        self.epoch = epoch
        self.updates = 0
        self.created_ms = created_ms
        self.counted = 0  # its ranges, as RangeRoom knows them
        self.timer = TimerKey("lock", key.group_id, f"{key.topic_id.hex}-{key.partition}")


class ShareTable:
    """All share-partitions by name; one for each coordinator."""

    def __init__(
        self,
        config: ShareConfig,
        limits: Callable[[str], Limits],
        wall_ms: Callable[[int], int],
        leads: Callable[[ShareKey], bool],
    ) -> None:
        """`leads(key)` tells whether this node leads a share-partition's partition, or no node does."""
        self.config = config
        self.limits = limits
        self._leads = leads
        self._wall_ms = wall_ms
        self.now_ms = 0
        self.shares: dict[ShareKey, Share] = {}
        self.index: ShareIndex[Share] = ShareIndex()
        self.ranges = RangeRoom(lambda: self.config.kawal_share_ranges_max_bytes, self._has_room)
        self.loaded: set[int] = set()
        # Those that another node leads: it stores what this node writes to them.
        self.elsewhere: Collection[int] = frozenset()
        self.journal = Journal()
        self.timers = Timers()
        self.internal_errors: list[InternalError] = []
        self._counts: dict[str, GroupCounts] = {}
        self._freed: dict[ShareKey, None] = {}
        self._archiving: dict[ShareKey, None] = {}
        # The number of ranges whose locks may still run out in this tick.
        self.expiring_max = EXPIRED_PER_TICK

    def partition(self, key: ShareKey) -> int:
        """Return the partition of __share_group_state that holds a share-partition."""
        return state_partition(key, self.config.share_coordinator_state_topic_num_partitions)

    @property
    def room(self) -> int:
        """The number of share-partitions for which there is memory yet."""
        return max(0, self.config.kawal_share_states_max_bytes // SHARE_BYTES - len(self.shares))

    @property
    def size_bytes(self) -> int:
        """The memory of all share-partitions, without their records in flight."""
        return SHARE_BYTES * len(self.shares)

    def find(self, key: ShareKey) -> Share | None:
        """Return a share-partition, if it exists.

        Raises: NotLoaded; NotCoordinator if another node leads its partition.
        """
        share = self.shares.get(key)
        home = self.partition(key) if share is None else share.home
        if home not in self.loaded:
            raise NotLoaded
        if share is not None and share.is_kept:
            raise NotCoordinator
        return share

    def of_partition(self, partition: int) -> list[Share]:
        """Return the share-partitions that a partition of __share_group_state holds, kept ones included."""
        return self.index.of_partition(partition)

    def of_group(self, group_id: str) -> list[ShareKey]:
        """Return the share-partitions of a group but for those that other nodes serve."""
        return self.index.of_group(group_id)

    def counts_of(self, group_id: str) -> GroupCounts:
        """Return the counters of a group; they are kept while it has share-partitions."""
        found = self._counts.get(group_id)
        if found is None:
            found = GroupCounts()
            if self.index.has_group(group_id):
                self._counts[group_id] = found
        return found

    def known(self, key: ShareKey) -> Share:
        """Return a share-partition.

        Raises: NotLoaded, GroupNotFound.
        """
        share = self.find(key)
        if share is None:
            raise GroupNotFound(f"Group {key.group_id} has no state for partition {key.partition}.")
        return share

    def note_freed(self, key: ShareKey) -> None:
        """Note that more of a share-partition may have become acquirable."""
        self._freed[key] = None

    def _has_room(self) -> None:
        self.timers.set_once(_ROOM, self.now_ms, self._tell_held)

    def _tell_held(self, now_ms: int) -> None:
        """Tell of share-partitions that were held back for lack of room."""
        self.now_ms = now_ms
        self._freed.update(dict.fromkeys(self.ranges.take_held()))
        # The rest has the next tick: what was told of may need no room.
        if self.ranges.held_count and not self.ranges.is_full:
            self.timers.set(_ROOM, now_ms + 1, self._tell_held)

    def take_freed(self) -> list[ShareKey]:
        """Return the share-partitions that may have become acquirable since the last call."""
        freed, self._freed = self._freed, {}
        return list(freed)

    def take_archiving(self) -> list[ShareKey]:
        """Return the share-partitions with records that have begun to wait for dead letters since then."""
        archiving, self._archiving = self._archiving, {}
        return list(archiving)

    def loaded_partition(self, partition: int) -> None:
        """Find what waits for dead letters in a partition of __share_group_state that was replayed."""
        for share in self.of_partition(partition):
            if not share.is_kept and any(True for _ in share.partition.archiving()):
                self._archiving[share.key] = None

    def replay(self, index: int, key: bytes | memoryview, value: bytes | memoryview | None) -> None:
        """Apply one stored record of partition `index`; what belongs into another is ignored.

        Raises: ProtocolError.
        """
        decoded = decode_state(key, value)
        if decoded is None:
            return
        name, record = decoded
        known = self.shares.get(name)
        if index != (self.partition(name) if known is None else known.home):
            # A client wrote it by hand.
            return
        if record is None:
            self._set(name, None)
        elif isinstance(record, Snapshot):
            partition = SharePartition(record.start, record.state_epoch)
            partition.replay(record.start, record.ranges)
            share = Share(
                name,
                partition,
                home=index,
                epoch=record.epoch,
                created_ms=record.created_ms,
                is_kept=not self._leads(name),
            )
            self._set(name, share)
        elif known is not None and record.epoch == known.epoch:
            known.partition.replay(record.start, record.ranges)
            known.updates += 1
            self.ranges.recount(known)

    # --- whole share-partitions -----------------------------------------------------------------------------

    def replace(self, key: ShareKey, partition: SharePartition, answer: Answer, *, epoch: int) -> None:
        """Make a share-partition, or set one to another state.  Raises: CoordinatorNotAvailable: no room."""
        if key not in self.shares and not self.room:
            raise CoordinatorNotAvailable(
                "The states of share groups have all the memory that they may (kawal.share.states.max.bytes)."
            )
        home = self.partition(key)
        share = Share(key, partition, home=home, epoch=epoch, created_ms=self._wall_ms(self.now_ms))
        before = self._put(key, share)
        record = encode_snapshot(key, self.snapshot(share))
        self._write(home, record, lambda: self._restore(key, before), _telling(answer))

    def delete(self, share: Share, answer: Answer) -> None:
        """Forget a share-partition."""
        key = share.key
        self._put(key, None)
        if not self.index.has_group(key.group_id):
            self._counts.pop(key.group_id, None)
        self._write(share.home, encode_deletion(key), lambda: self._restore(key, share), _telling(answer))

    def drop(self, share: Share) -> None:
        """Forget a share-partition of a deleted topic, as the node does that stores its state."""
        if share.home in self.elsewhere:
            self._put(share.key, None)
        else:
            self.delete(share, no_answer)

    def forget(self, partition: int) -> None:
        """Forget what a partition of __share_group_state holds: it is replayed again, or served elsewhere."""
        for share in self.of_partition(partition):
            self._put(share.key, None)

    def _put(self, key: ShareKey, share: Share | None) -> Share | None:
        """Set or remove a share-partition; return the one before, whose locks run no longer."""
        before = self._set(key, share)
        if before is not None:
            self.timers.cancel(before.timer)
        self._freed[key] = None
        return before

    def _set(self, key: ShareKey, share: Share | None) -> Share | None:
        before = self.shares.pop(key, None)
        if before is not None:
            self.ranges.release(key)
            self.ranges.forget(before)
            self.index.remove(before)
        if share is not None:
            self.shares[key] = share
            self.ranges.recount(share)
            self.index.add(share)
        return before

    def _restore(self, key: ShareKey, before: Share | None) -> None:
        self._put(key, before)
        if before is not None:
            self.arm(before)

    # --- changes of records ---------------------------------------------------------------------------------

    def store(self, share: Share, change: Change | None, answer: Answer, *, at_least_ms: int = 0) -> None:
        """Write a change; it counts, or is taken back, when the outcome is known."""
        self.arm(share, at_least_ms)
        self.ranges.recount(share)
        if change is None:
            self.answer_after(share.home, answer)
            return
        epoch, updates = share.epoch, share.updates

        def undo() -> None:
            # A snapshot that was lost must not be the one that later changes name.
            share.epoch, share.updates = epoch, updates
            share.partition.undo(change)

        def done(error: ErrorCode | None, now_ms: int) -> None:
            self.now_ms = now_ms
            if error is None:
                self._settle(share, change)
            if self.shares.get(share.key) is share:
                self.ranges.recount(share)
                self._freed[share.key] = None
                self.arm(share, at_least_ms=0 if error is None else now_ms + RETRY_MS)
            answer(ErrorCode.NONE if error is None else append_error(error))

        self._write(share.home, self._record(share, change), undo, done)

    def _settle(self, share: Share, change: Change) -> None:
        share.partition.settle(change)
        self.counts_of(share.key.group_id).settled(change)
        if any(part.state == RecordState.ARCHIVING for part in change.ranges):
            self._archiving[share.key] = None

    def _record(self, share: Share, change: Change) -> EncodedRecord:
        share.updates += 1
        if share.updates > self.config.share_coordinator_snapshot_update_records_per_snapshot:
            share.updates = 0
            share.epoch += 1
            return encode_snapshot(share.key, self.snapshot(share))
        start, finished_count = share.partition.start, share.partition.finished_count()
        update = Update(share.epoch, LEADER_EPOCH, start, finished_count, change.ranges)
        return encode_update(share.key, update)

    def snapshot(self, share: Share) -> Snapshot:
        """Return the present state of a share-partition, with the changes that are being stored."""
        partition = share.partition
        return Snapshot(
            share.epoch,
            partition.state_epoch,
            LEADER_EPOCH,
            partition.start,
            partition.finished_count(),
            share.created_ms,
            self._wall_ms(self.now_ms),
            partition.stored_ranges(),
        )

    def move_log_start(self, key: ShareKey, offset: int) -> None:
        """Forget what the log of a partition no longer has.  Raises: NotLoaded, GroupNotFound."""
        share = self.known(key)
        start = share.partition.start
        share.partition.move_log_start(offset)
        self.ranges.recount(share)
        if share.partition.start > start:
            self.note_freed(key)

    def answer_after(self, partition: int, answer: Answer) -> None:
        """Answer once all that was written to a partition so far is durable, maybe at once."""
        self.journal.after_writes(partition, _telling(answer), self.now_ms)

    def _write(self, partition: int, record: EncodedRecord, undo: Undo, done: Done) -> None:
        self.journal.write(partition, [record], [undo], done)

    # --- locks ----------------------------------------------------------------------------------------------

    def arm(self, share: Share, at_least_ms: int = 0) -> None:
        """Set the timer for the locks of a share-partition, if a member has records of it."""
        due_ms = share.partition.next_lock_deadline()
        if due_ms is not None:
            moment_ms = max(due_ms, at_least_ms)
            self.timers.set(share.timer, moment_ms, lambda now_ms: self._expire(share, now_ms))

    def _expire(self, share: Share, now_ms: int) -> None:
        self.now_ms = now_ms
        if self.shares.get(share.key) is not share:
            return
        room = self.expiring_max
        change, count = share.partition.expire(self.limits(share.key.group_id), now_ms, room)
        self.expiring_max -= count
        self._freed[share.key] = None
        # What there was no room for comes in the next tick.
        self.store(share, change, no_answer, at_least_ms=now_ms + 1)

    def timer_failed(self, timer: TimerKey, error: Exception) -> None:
        """Keep an error of our own in the timer of a share-partition, whose partition is to be replayed."""
        home = next((share.home for share in self.shares.values() if share.timer == timer), None)
        self.internal_errors.append(InternalError(home, timer.group_id, error))


def _telling(answer: Answer) -> Done:
    return lambda error, _now_ms: answer(ErrorCode.NONE if error is None else append_error(error))


def no_answer(_: ErrorCode) -> None:
    """Send no answer: what the server does on its own is done again if it is lost."""
