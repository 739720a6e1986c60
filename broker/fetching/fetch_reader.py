"""Reading for a fetch: one pass over the partitions it asks for."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from broker.catalogue.metadata import Metadata
from broker.errors import RequestError, storage_error
from broker.fetching.cold_items import ColdItems
from broker.fetching.fetch_items import FetchItem, find_to_read, may_fetch
from broker.fetching.fetch_sessions import FetchPlan
from broker.fetching.identified_records import add_ids, identified
from broker.fetching.item_errors import divergence, empty_data, error_data, remote_error
from broker.fetching.member_views import FetchMembership
from broker.loop.call import Call
from broker.loop.slices import Offload, WaitingSteps, in_thread, run_here
from broker.storage.message_id_headers import READ_BYTES, adds_ids
from broker.storage.partition import Partition
from broker.view_topics.empty_batches import moves_over_empty_batch, takes_empty_batch
from broker.view_topics.member_view import MemberView
from broker.view_topics.view_loading import load_in_thread
from broker.view_topics.view_partition import Unsettled, ViewPartition, ViewRead
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import AbortedTransaction, FetchRequest, PartitionData
from protocol.wire import RecordParts
from wal.disk import DiskError
from wal.errors import IndexNotLoaded, OffsetOutOfRange, RemoteReadError, RemoteWaits, WalError
from wal.reader import PIECES_MAX
from wal.remote_reads import RemoteNotLoaded

logger = logging.getLogger("kawal.broker")

READ_COMMITTED: Final = 1
"""The isolation level of consumers that see no records of open or aborted transactions."""

ROW_ITEMS_MAX: Final = 100
"""A fetch of more partitions does not wait for a number of records."""

INDEX_LOADS_MAX: Final = 40
"""The indexes that a read of one partition may want, one after the other: it looks for an offset by halving,
and passes over segments without the partition's records.  What is left then is read by the loop."""

ROW_RANGES_MAX: Final = 20
"""Ranges of a view that are counted whenever it shows more, 40 us."""


class FetchReader:
    """One pass over a plan's partitions: what they return within the limits of the request."""

    __slots__ = (
        "as_members",
        "call",
        "cold",
        "counted_bytes",
        "due_ms",
        "found",
        "has_error",
        "has_news",
        "is_denied",
        "is_full",
        "membership",
        "metadata",
        "min_bytes",
        "min_rows",
        "now_ms",
        "offload",
        "piece_count",
        "plan",
        "read_committed",
        "room_bytes",
        "rows",
        "scans",
        "size_bytes",
        "views",
    )

    def __init__(
        self,
        metadata: Metadata,
        call: Call[FetchRequest],
        plan: FetchPlan,
        *,
        room_bytes: int,
        now_ms: int,
        scans: bool = True,
        membership: FetchMembership | None = None,
        offload: Offload = run_here,
    ) -> None:
        """`room_bytes` is the most that the answer may have now, whatever the client allows.

        `membership`: the settings for reading of the groups whose members fetch, if there are any; `offload`
        runs what has to wait for the disk in a thread.
        """
        request = call.request
        self.metadata = metadata
        self.offload = offload
        self.call = call
        self.plan = plan
        self.now_ms = now_ms
        # Whether views look at records not looked at yet, or show only what they know.
        self.scans = scans
        self.membership = membership
        # The items that are read as a group sees them.
        self.as_members: set[FetchItem] = set()
        # The views in the plan, each with the offset up to which it was read.
        self.views: list[tuple[ViewPartition | MemberView, int]] = []
        # A view has news although it has no records: its position.
        self.has_news = False
        # The time when a view that paces its records will show more.
        self.due_ms: int | None = None
        self.read_committed = request.isolation_level == READ_COMMITTED
        self.room_bytes = min(request.max_bytes, metadata.config.fetch_max_bytes, room_bytes)
        self.size_bytes = 0
        self.piece_count = 0
        # Those for `min_bytes`: whole batches rarely fill a limit, so what has more to give counts as full.
        self.counted_bytes = 0
        self.min_bytes = min(request.min_bytes, self.room_bytes)
        # The records found, those that the groups wait for, and whether more could not be added.
        self.rows = 0
        self.min_rows = 0
        self.is_full = False
        self.has_error = False
        self.found: list[tuple[FetchItem, PartitionData]] = []
        self.cold = ColdItems()
        self.is_denied = call.rights is not None and not may_fetch(call.rights, request)

    def read(self, items: Iterable[FetchItem]) -> WaitingSteps:
        """Read these partitions of the plan, in the plan's order; yield where a view has worked enough."""
        for item in items:
            data, view = yield from self._begin_anywhere(item)
            if view is not None:
                yield from self._read_view(item, view, data)
            elif data.records and (partition := identified(item)) is not None:
                yield from self._add_ids(partition, item, data)
            if data.error_code or data.diverging_epoch is not None:
                self.has_error = True
            self.found.append((item, data))
        if self.cold:
            yield from self._read_cold()

    def _read_cold(self) -> WaitingSteps:
        """Read what comes from the object store, if there is nothing else to give; the rest is asked for."""
        again = yield from self.cold.read(self._begin_again, lambda: self.size_bytes > 0)
        # A reader that is told nothing asks again, and finds what has come meanwhile.
        self.has_news = True
        self.has_error = self.has_error or any(data.error_code for data in again.values())
        self.found[:] = [(item, again.get(item, data)) for item, data in self.found]

    def _begin_again(self, item: FetchItem) -> WaitingSteps:
        data, _ = yield from self._begin_anywhere(item)
        if data.records and (partition := identified(item)) is not None:
            yield from self._add_ids(partition, item, data)
        return data

    def is_enough(self) -> bool:
        """Whether to answer now with what was read."""
        request = self.call.request
        return (
            (self.counted_bytes >= self.min_bytes and (self.rows >= self.min_rows or self.is_full))
            or self.has_error
            or self.has_news
            or request.max_wait_ms <= 0
        )

    def is_outdated(self, found: Iterable[tuple[FetchItem, PartitionData]]) -> bool:
        """Whether records have arrived since these of the partitions were read."""
        topics = self.metadata.topics
        # Views are not asked: a fetch that waits for one is woken as soon as it shows more.
        return any(
            item.topic is None
            or (
                item.topic.view is None
                and item not in self.as_members
                and self._end_of(topics.partition(item.topic, item.index)) != self._end_in(data)
            )
            for item, data in found
        )

    def committed_only(
        self, found: Iterable[tuple[FetchItem, PartitionData]]
    ) -> list[tuple[FetchItem, PartitionData]]:
        """Return the partitions among these of which only decided records are given."""
        if not (self.read_committed or self.as_members):
            return []
        return [(item, data) for item, data in found if self.read_committed or item in self.as_members]

    def has_rows(self) -> bool:
        """Whether there are as many records as the groups wait for, or too many partitions to ask."""
        if len(self.found) > ROW_ITEMS_MAX:
            return True
        rows = 0
        for item, _ in self.found:
            if item.topic is not None and item.index in item.topic.partitions:
                partition = item.topic.partitions[item.index]
                end = max(self._end_of(partition), item.fetch_offset)
                rows += partition.records_between(item.fetch_offset, end, ranges_max=ROW_RANGES_MAX).shown
        return rows >= self.min_rows

    def _end_of(self, partition: Partition) -> int:
        return partition.last_stable_offset if self.read_committed else partition.high_watermark

    def _end_in(self, data: PartitionData) -> int:
        return data.last_stable_offset if self.read_committed else data.high_watermark

    def _begin_anywhere(self, item: FetchItem) -> WaitingSteps:
        """Begin an item; what it needs of the disk is read by threads."""
        try:
            return self._begin(item, may_wait=False)
        except IndexNotLoaded as cold:
            return (yield from self._begin_cold(item, cold))
        except Unsettled as late:
            return (yield from self._begin_late(item, late.view))

    def _begin_cold(self, item: FetchItem, cold: IndexNotLoaded) -> WaitingSteps:
        """Begin an item for which indexes must be read first: a thread does, as disks may take long."""
        for _ in range(INDEX_LOADS_MAX):
            yield from in_thread(self.offload, cold.load)
            if not cold.adopt():
                break
            try:
                return self._begin(item, may_wait=False)
            except IndexNotLoaded as next_one:
                cold = next_one
        return self._begin(item, may_wait=True)

    def _begin_late(self, item: FetchItem, view: ViewPartition) -> WaitingSteps:
        """Begin an item when it is known where its view begins and ends."""
        try:
            yield from view.settle()
        except RequestError as error:
            return error_data(item, error.code), None
        return self._begin(item, may_wait=True)

    def _begin(
        self, item: FetchItem, *, may_wait: bool
    ) -> tuple[PartitionData, ViewPartition | MemberView | None]:
        """Return what a partition gives; for a view all but the records, and the view that has them.

        Raises: IndexNotLoaded, Unsettled, without `may_wait`.
        """
        try:
            partition = self.find(item)
            if isinstance(partition, ViewPartition) and not (may_wait or partition.is_settled):
                raise Unsettled(partition)
            return self._read_records(item, partition, may_wait=may_wait)
        except RequestError as error:
            return error_data(item, error.code), None

    def find(self, item: FetchItem) -> Partition:
        """Return the partition that an item names.  Raises: RequestError."""
        if self.is_denied:
            raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return find_to_read(self.metadata, item, self.call.rights)

    def _read_records(
        self, item: FetchItem, partition: Partition, *, may_wait: bool
    ) -> tuple[PartitionData, ViewPartition | MemberView | None]:
        data = empty_data(item, partition, read_committed=self.read_committed)
        high_watermark = data.high_watermark
        if (
            item.last_fetched_epoch >= 0
            and (diverging := divergence(item, partition, self.metadata.topics.leader_epoch)) is not None
        ):
            data.diverging_epoch = diverging
            data.aborted_transactions = None
            return data, None
        begins_anywhere = self.metadata.config.kawal_out_of_range == "first"
        if begins_anywhere and 0 <= item.fetch_offset < partition.log_start:
            # A batch after the requested offset is legal, as in a compacted log.
            item.fetch_offset = partition.log_start
        if partition.is_hiding and item.fetch_offset > high_watermark:
            return data, None  # it may have been shown before the start: it is shown again soon
        if isinstance(partition, ViewPartition):
            if not partition.log_start <= item.fetch_offset <= high_watermark:
                raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE)
            return data, self._as_member(item, partition, data) or partition
        if (seen := self._as_member(item, partition, data)) is not None:
            # Its reader may have read records that are not decided yet, before the group had the setting.
            return data, seen if item.fetch_offset <= seen.high_watermark else None
        end = self._end_in(data)
        if end <= item.fetch_offset <= high_watermark:
            return data, None
        self._read_stored(item, partition, data, end, may_wait=may_wait)
        return data, None

    def _read_stored(
        self, item: FetchItem, partition: Partition, data: PartitionData, end: int, *, may_wait: bool
    ) -> None:
        """Add the batches of a stored partition, up to `end`.  Raises: RequestError; IndexNotLoaded."""
        limit_bytes = min(item.max_bytes, self.room_bytes - self.size_bytes)
        if self.piece_count >= PIECES_MAX:
            limit_bytes = 0
        try:
            result = partition.read(
                item.fetch_offset,
                min(limit_bytes, READ_BYTES) if adds_ids(partition) else limit_bytes,
                minimum_one=not self.size_bytes,
                end=end,
                may_wait=may_wait,
            )
        except OffsetOutOfRange as error:
            raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE) from error
        except RemoteNotLoaded as cold:
            self.cold.note(item, cold)
            return
        except RemoteWaits:
            return
        except RemoteReadError as error:
            raise remote_error(item, error) from error
        except (WalError, DiskError) as error:
            logger.error("fetch of %s-%d from offset %d: %s", partition.topic.name, item.index,
                         item.fetch_offset, error)  # fmt: skip
            raise storage_error(error) from error
        self.piece_count += result.piece_count
        self._count(result.size_bytes, limit_bytes, has_more=result.next_offset < end)
        self.rows += max(0, result.next_offset - item.fetch_offset)
        if result.size_bytes:
            data.records = RecordParts(result.parts, result.size_bytes)
            if self.read_committed:
                aborted = partition.aborted_between(item.fetch_offset, result.next_offset)
                data.aborted_transactions = [
                    AbortedTransaction(producer_id=found.producer_id, first_offset=found.first_offset)
                    for found in aborted
                ]

    def _add_ids(self, partition: Partition, item: FetchItem, data: PartitionData) -> WaitingSteps:
        """Put the ids of the records into them, and count what they then take."""
        assert isinstance(data.records, RecordParts)
        self.size_bytes -= data.records.size_bytes
        room_bytes = min(item.max_bytes, self.room_bytes - self.size_bytes)
        is_first = not self.size_bytes
        self.size_bytes += yield from add_ids(
            partition, data, room_bytes, minimum_one=is_first, offload=self.offload
        )

    def _as_member(self, item: FetchItem, partition: Partition, data: PartitionData) -> MemberView | None:
        """Return the partition as its group sees it, if that differs from the partition itself."""
        if self.membership is None:
            return None
        self.min_rows = max(self.min_rows, self.membership.min_rows(partition))
        if not partition.log_start <= item.fetch_offset <= data.high_watermark:
            return None
        seen = self.membership.view_of(partition, item.fetch_offset)
        if seen is not None:
            self.as_members.add(item)
            data.high_watermark = data.last_stable_offset = seen.high_watermark
        return seen

    def _count(self, size_bytes: int, limit_bytes: int, *, has_more: bool) -> None:
        self.size_bytes += size_bytes
        self.is_full = self.is_full or has_more
        self.counted_bytes += max(size_bytes, limit_bytes) if has_more else size_bytes

    def _read_view(
        self, item: FetchItem, view: ViewPartition | MemberView, data: PartitionData
    ) -> WaitingSteps:
        """Add what the view shows."""
        if isinstance(view, ViewPartition):
            yield from load_in_thread(view.host.loop.scheduler)
        connection = self.call.connection
        limit_bytes = min(item.max_bytes, self.room_bytes - self.size_bytes)
        read = ViewRead(
            item.fetch_offset,
            limit_bytes,
            minimum_one=not self.size_bytes,
            scans=self.scans,
            may_wait=self.call.request.max_wait_ms > 0,
            now_ms=self.now_ms,
            reader=self.plan.session_id or (connection.identity, self.call.client_id),
        )
        try:
            yield from view.steps(read)
        except OffsetOutOfRange:
            data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            return
        except (WalError, DiskError) as error:
            logger.error("fetch of view %s-%d from offset %d: %s", item.name, item.index,
                         item.fetch_offset, error)  # fmt: skip
            data.error_code = storage_error(error).code
            return
        except RequestError as error:
            data.error_code = error.code
            return
        self.views.append((view, read.position))
        # Where nothing is shown yet, the view may have looked at its share only: it has not filled the limit.
        has_more = read.size_bytes > 0 and read.position < data.high_watermark
        self._count(read.size_bytes, limit_bytes, has_more=has_more)
        if self.min_rows:
            self.rows += read.rows()
        if read.stopped or (moves_over_empty_batch(self.call) and view.has_news(read)):
            self.has_news = True
        if read.due_ms is not None:
            self.due_ms = read.due_ms if self.due_ms is None else min(self.due_ms, read.due_ms)
        # The view may have grown while it was read.
        data.high_watermark = data.last_stable_offset = max(data.high_watermark, read.position)
        parts, size_bytes = read.finished(takes_empty=takes_empty_batch(self.call))
        if size_bytes:
            data.records = RecordParts(parts, size_bytes)
