"""One topic-partition as the broker sees it: a stream on a vnode.

Handlers use only this interface and not the log behind it, so that a view's partition
(broker/view_topics/view_partition.py) can stand in for a stored one.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.storage.time_search import first_since, newest
from wal.errors import WalError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from broker.catalogue.topic import Topic
    from broker.loop.slices import Offload, Until
    from broker.security.quota_rates import TokenBucket
    from broker.storage.vnode import Vnode
    from wal.lookup import TimeHit
    from wal.reader import ReadResult
    from wal.stream_producers import ProducerDescription
    from wal.transactions import AbortedTransaction


logger = logging.getLogger("kawal.broker")

NO_EPOCHS: Final = -1
"""The least epoch of a partition whose leader epoch is the server's."""


class Counted(NamedTuple):
    """The number of records between two offsets that readers are shown, as far as that is known."""

    shown: int
    unknown: int
    """The number of offsets of which it is not known whether they are shown."""


class Partition:
    """The link of a topic's partition to its stream; made at the first use."""

    __slots__ = ("index", "least_epoch", "stream_id", "topic", "vnode", "writes")

    def __init__(self, topic: Topic, index: int, vnode: Vnode) -> None:
        self.topic = topic
        self.index = index
        self.stream_id = topic.stream_id(index)
        self.vnode = vnode
        self.least_epoch = NO_EPOCHS
        """The oldest leader epoch that is served, if it has epochs of its own above the server's."""
        self.writes: TokenBucket | None = None
        """The bytes that may be written now, if their speed is limited."""

    @property
    def wait_key(self) -> int:
        """The key under which parked fetches wait for the partition."""
        return self.stream_id

    @property
    def log_start(self) -> int:
        """The first offset that can be fetched."""
        return self.vnode.log.log_start(self.stream_id)

    @property
    def high_watermark(self) -> int:
        """The offset after the last one that can be fetched."""
        return self.vnode.log.high_watermark(self.stream_id)

    @property
    def counted_end(self) -> int:
        """The same with the records of an earlier process that the object store may lack (wal/hidden.py)."""
        return self.vnode.log.counted_end(self.stream_id)

    @property
    def is_hiding(self) -> bool:
        """Whether readers may have been shown records before that they are not shown for the moment."""
        return not self.vnode.is_confirmed

    def records_between(self, start: int, end: int, *, ranges_max: int) -> Counted:
        """Count the records between two offsets; a stored partition counts each offset as one.

        `ranges_max`: the most ranges of a view that are looked at, at 2 µs; what lies after them is unknown.
        """
        return Counted(end - start, 0)

    @property
    def is_complete(self) -> bool:
        """Whether nothing will ever be added at the end: of all partitions, only a view's may have one."""
        return False

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which no transaction is open."""
        log = self.vnode.log
        return log.producers(self.stream_id).last_stable_offset(self.high_watermark, self.log_start)

    @property
    def log_end(self) -> int:
        """The offset after the last record, whether that can be fetched yet or not."""
        return self.vnode.log.next_offset(self.stream_id)

    @property
    def size_bytes(self) -> int:
        """The bytes that the partition's visible batches take on the disk."""
        return self.vnode.log.stream_size_bytes(self.stream_id)

    def aborted_between(self, start: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records between two offsets, by first offset."""
        return self.vnode.log.producers(self.stream_id).aborted_between(start, end)

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        minimum_one: bool = True,
        end: int | None = None,
        may_wait: bool = True,
    ) -> ReadResult:
        """Return stored batches from the one that holds `offset`, as VnodeLog.read; views have `steps`."""
        return self.vnode.log.read(
            self.stream_id, offset, max_bytes, minimum_one=minimum_one, end=end, may_wait=may_wait
        )

    def time_steps(
        self, timestamp_ms: int, *, from_offset: int, offload: Offload
    ) -> Generator[Until | None, None, TimeHit | None]:
        """Return the first batch from an offset on with a record at or after the time.

        Views look into batches for that, in steps; here indexes of times tell which one it is.  `offload` has
        threads read what must come from the disk.
        """
        log = self.vnode.log
        return first_since(log, self.stream_id, timestamp_ms, from_offset=from_offset, offload=offload)

    def newest_steps(self, offload: Offload) -> Generator[Until | None, None, TimeHit | None]:
        """Return the first batch that has the partition's largest timestamp, in the same way."""
        return newest(self.vnode.log, self.stream_id, offload=offload)

    def leader_epoch(self, server_epoch: int) -> int:
        """Return the leader epoch, which clients learn; of most partitions it is the server's."""
        if self.least_epoch < 0:
            return server_epoch
        return max(server_epoch, self.least_epoch, self.vnode.log.own_epoch(self.stream_id))

    def oldest_epoch(self, server_epoch: int) -> int:
        """Return the oldest leader epoch of clients that are still served."""
        return max(server_epoch, self.least_epoch)

    def begin_epoch(self, epoch: int) -> None:
        """Begin an epoch after a split: clients with an older one are refused, and so find the new partition.

        Its record in the log tells where the split was. A log that takes none keeps the old epoch in batches.
        """
        self.least_epoch = max(self.least_epoch, epoch)
        try:
            if epoch > self.vnode.log.leader_epoch(self.stream_id):
                self.vnode.log.set_leader_epoch(self.stream_id, epoch)
        except WalError as error:
            logger.warning(
                "leader epoch %d of partition %d of topic %r is not in its log: %s",
                epoch,
                self.index,
                self.topic.name,
                error,
            )

    def epoch_up_to(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch of its records up to a given one, and the offset at which it ends."""
        return self.vnode.log.epoch_up_to(self.stream_id, epoch)

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch of the record at an offset."""
        return self.vnode.log.epoch_at(self.stream_id, offset)

    def leader_epochs(self) -> list[tuple[int, int]]:
        """Return every leader epoch of its records with its first offset, oldest first."""
        return self.vnode.log.leader_epochs(self.stream_id)

    def close(self) -> None:
        """Release what the partition keeps, as its topic was deleted; a stored one keeps nothing."""

    def producer_count(self) -> int:
        """Return the number of producers that have written to it and are not forgotten yet."""
        return self.vnode.log.producer_count(self.stream_id)

    def producers(self) -> Iterator[ProducerDescription]:
        """Return them, the one idle longest first, as they are now: described one at a time."""
        return self.vnode.log.producers(self.stream_id).described()
