"""Fetch: v4-18.

Behaviour: whole batches from the one that holds the offset, never beyond the high watermark; the first batch
of the answer is sent even when it is larger than every limit (KIP-74).  A fetch with less than `min_bytes`
is parked and woken by the bytes that arrive, not by a clock.  Sessions: broker/fetching/fetch_sessions.py.
With kawal.out.of.range=first a fetch below the log start is answered from the log start.
Differences from Apache Kafka: replicas do not exist, so `replica_id` is ignored; every record that can be
fetched is durable (the high watermark follows the sync).
Views (broker/view_topics/view_partition.py) are read a slice at a time, and what they leave out moves the
reader on: the last batch is stretched over it, or where nothing is left a batch without records is sent.
Version notes: v7 sessions (KIP-227); v9 leader epochs (KIP-320); v11 rack id (ignored); v12 flexible,
last fetched epoch (KIP-595); v13 topic ids (KIP-516); v15-18 replica fields (ignored).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from broker.errors import RequestError, storage_error
from broker.fetching.fetch_sessions import FetchItem, FetchPlan
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import ITEMS_PER_SLICE, Steps, chunks
from broker.loop.waiters import ParkedCall
from broker.storage.partition import LEADER_EPOCH, Partition
from broker.view_topics.empty_batches import moves_over_empty_batch, takes_empty_batch
from broker.view_topics.view_partition import ViewPartition, ViewRead
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.wire import RecordParts
from wal.disk import DiskError
from wal.errors import OffsetOutOfRange, WalError

if TYPE_CHECKING:
    from broker.core import Broker

READ_COMMITTED = 1
TOPIC_IDS_VERSION = 13
NO_EPOCH = -1

DONE = object()


_READ_ERRORS = frozenset(
    {
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class FetchReader:
    """One pass over a plan's partitions: what they give within the limits of the request."""

    __slots__ = (
        "broker",
        "call",
        "due_ms",
        "found",
        "has_error",
        "has_news",
        "now_ms",
        "plan",
        "read_committed",
        "room_bytes",
        "scans",
        "size_bytes",
        "views",
    )

    def __init__(
        self, broker: Broker, call: Call[FetchRequest], plan: FetchPlan, *, now_ms: int, scans: bool = True
    ) -> None:
        request = call.request
        self.broker = broker
        self.call = call
        self.plan = plan
        self.now_ms = now_ms
        # Whether views look at records that nobody has looked at yet, or show what they know.
        self.scans = scans
        # The views in the plan, each with the offset up to which it was read.
        self.views: list[tuple[ViewPartition, int]] = []
        # A view has something to tell although it has no records: how far it came.
        self.has_news = False
        # When a view that paces its records will show more.
        self.due_ms: int | None = None
        self.read_committed = request.isolation_level == READ_COMMITTED
        self.room_bytes = min(
            request.max_bytes, broker.config.fetch_max_bytes, broker.memory.fetch_room_bytes()
        )
        self.size_bytes = 0
        self.has_error = False
        self.found: list[tuple[FetchItem, PartitionData]] = []

    def read(self, items: Iterable[FetchItem]) -> Iterator[None]:
        """Read these partitions of the plan, in the plan's order; yields where a view has worked enough."""
        for item in items:
            data, view = self._begin(item)
            if view is not None:
                yield from self._read_view(item, view, data)
            if data.error_code or data.diverging_epoch is not None:
                self.has_error = True
            self.found.append((item, data))

    def is_enough(self) -> bool:
        """Whether what was read is to be answered now."""
        request = self.call.request
        return (
            self.size_bytes >= request.min_bytes
            or self.has_error
            or self.has_news
            or request.max_wait_ms <= 0
        )

    def is_outdated(self) -> bool:
        """Whether records have come since the partitions were read."""
        topics = self.broker.topics
        # Views are not asked: who waits for one is told as soon as it shows more.
        return any(
            item.topic is None
            or (
                item.topic.view is None
                and topics.partition(item.topic, item.index).high_watermark != data.high_watermark
            )
            for item, data in self.found
        )

    def _begin(self, item: FetchItem) -> tuple[PartitionData, ViewPartition | None]:
        """What a partition gives; of a view all but the records, and the view that has them."""
        try:
            partition = find_partition(self.broker, item)
            # Here, and only here, Kafka takes every negative epoch for none.
            check_leader_epoch(max(item.leader_epoch, NO_EPOCH))
            return self._read_records(item, partition)
        except RequestError as error:
            return _error_data(item, error.code), None

    def _read_records(
        self, item: FetchItem, partition: Partition
    ) -> tuple[PartitionData, ViewPartition | None]:
        high_watermark = partition.high_watermark
        stable = partition.last_stable_offset
        data = PartitionData(
            partition_index=item.index,
            high_watermark=high_watermark,
            last_stable_offset=stable,
            log_start_offset=partition.log_start,
            aborted_transactions=[] if self.read_committed else None,
            records=b"",
        )
        if item.last_fetched_epoch >= 0 and (diverging := _divergence(item, partition)) is not None:
            data.diverging_epoch = diverging
            data.aborted_transactions = None
            return data, None
        if 0 <= item.fetch_offset < partition.log_start and self.broker.config.kawal_out_of_range == "first":
            # A batch behind the offset that was asked for is legal, as in a compacted log.
            item.fetch_offset = partition.log_start
        if isinstance(partition, ViewPartition):
            if not partition.log_start <= item.fetch_offset <= high_watermark:
                raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE)
            return data, partition
        if item.fetch_offset == high_watermark:
            return data, None
        try:
            result = partition.read(
                item.fetch_offset,
                min(item.max_bytes, self.room_bytes - self.size_bytes),
                minimum_one=not self.size_bytes,
            )
        except OffsetOutOfRange as error:
            raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE) from error
        except (WalError, DiskError) as error:
            raise storage_error(error) from error
        if result.size_bytes:
            self.size_bytes += result.size_bytes
            data.records = RecordParts(result.parts, result.size_bytes)
        return data, None

    def _read_view(self, item: FetchItem, view: ViewPartition, data: PartitionData) -> Iterator[None]:
        """Add what the view shows."""
        connection = self.call.connection
        read = ViewRead(
            item.fetch_offset,
            min(item.max_bytes, self.room_bytes - self.size_bytes),
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
            data.error_code = storage_error(error).code
            return
        self.views.append((view, read.position))
        self.size_bytes += read.size_bytes
        if read.stopped or (moves_over_empty_batch(self.call) and view.has_news(read)):
            self.has_news = True
        if read.due_ms is not None:
            self.due_ms = read.due_ms if self.due_ms is None else min(self.due_ms, read.due_ms)
        # It may have grown while it was read.
        data.high_watermark = data.last_stable_offset = max(data.high_watermark, read.position)
        parts, size_bytes = read.finished(takes_empty=takes_empty_batch(self.call))
        if size_bytes:
            data.records = RecordParts(parts, size_bytes)


def handle(broker: Broker, call: Call[FetchRequest]) -> FetchResponse | Parked | Steps:
    """Answer with what is there, or park until enough is."""
    request = call.request
    try:
        plan = broker.fetch_sessions.plan(
            request, uses_topic_ids=call.version >= TOPIC_IDS_VERSION, now_ms=call.received_ms
        )
    except RequestError as error:
        return FetchResponse(error_code=error.code, session_id=0, responses=[])
    reader = FetchReader(broker, call, plan, now_ms=call.received_ms)
    if len(plan.items) > ITEMS_PER_SLICE:
        return _read_in_slices(reader, may_park=True)
    steps = reader.read(tuple(plan.items.values()))
    if next(steps, DONE) is not DONE:
        return _go_on_in_slices(reader, steps, may_park=True)
    if reader.is_enough() or not plan.items:
        return _respond(reader)
    _park(reader)
    return PARKED


def _go_on_in_slices(reader: FetchReader, steps: Iterator[None], *, may_park: bool) -> Steps:
    """The rest of a plan in which a view has much to look at."""
    yield from steps
    if may_park and not reader.is_enough() and not reader.is_outdated():
        _park(reader)
        return PARKED
    return _respond(reader)


def _read_in_slices(reader: FetchReader, *, may_park: bool) -> Steps:
    """The same for a plan of many partitions, which other requests may change in between."""
    for items in chunks(tuple(reader.plan.items.values())):
        yield from reader.read(items)
        yield
    if may_park and not reader.is_enough() and not reader.is_outdated():
        _park(reader)
        return PARKED
    answer = Answer(reader.plan)
    for found in chunks(reader.found):
        answer.add(found)
        yield
    return answer.finished()


def _park(reader: FetchReader) -> None:
    broker, call, plan = reader.broker, reader.call, reader.plan

    # The session may change before the fetch is woken only through a later request of the same client, whose
    # answer then follows this one; reading the plan's items at that time is what Kafka does as well.
    def resume(now_ms: int) -> None:
        again = FetchReader(broker, call, plan, scans=False, now_ms=now_ms)
        if len(plan.items) > ITEMS_PER_SLICE:
            broker.scheduler.begin(call, _read_in_slices(again, may_park=False))
            return
        steps = again.read(tuple(plan.items.values()))
        if next(steps, DONE) is not DONE:
            broker.scheduler.begin(call, _go_on_in_slices(again, steps, may_park=False))
            return
        call.reply(_respond(again))

    keys = {
        item.topic.partitions[item.index].wait_key
        for item in plan.items.values()
        if item.topic is not None and item.index in item.topic.partitions
    }
    fetch = ParkedCall(
        call,
        keys=list(keys),
        size_bytes=reader.size_bytes,
        min_bytes=call.request.min_bytes,
        resume=resume,
    )
    deadline_ms = call.received_ms + call.request.max_wait_ms
    if reader.due_ms is not None:
        deadline_ms = min(deadline_ms, reader.due_ms)
    broker.waiters.park(fetch, deadline_ms=deadline_ms)
    for view, position in reader.views:
        view.began_waiting(position, reader.now_ms)


def find_partition(broker: Broker, item: FetchItem) -> Partition:
    """The partition an item names, by topic id where it has one.

    Raises:
        RequestError: 100 for a topic id never seen by this item, 3 for what is gone or does not exist.
    """
    known = item.topic
    topic = broker.catalogue.find_id(item.topic_id) if item.by_id else broker.catalogue.find(item.name)
    if topic is None:
        unknown_id = item.by_id and known is None
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = broker.topics.partition(topic, item.index)
    item.topic = topic
    return partition


def check_leader_epoch(epoch: int) -> None:
    """Compare the client's idea of the leader epoch with ours; -1 means it has none (KIP-320)."""
    if epoch not in (NO_EPOCH, LEADER_EPOCH):
        later = epoch > LEADER_EPOCH
        raise RequestError(ErrorCode.UNKNOWN_LEADER_EPOCH if later else ErrorCode.FENCED_LEADER_EPOCH)


def _divergence(item: FetchItem, partition: Partition) -> EpochEndOffset | None:
    """Where the client's log and ours part.  Raises: RequestError for an epoch that our log never had."""
    if item.last_fetched_epoch > LEADER_EPOCH:
        raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE)
    end_offset = partition.log_end
    if item.fetch_offset <= end_offset:
        return None
    return EpochEndOffset(epoch=LEADER_EPOCH, end_offset=end_offset)


def _error_data(item: FetchItem, code: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=item.index,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        # Kafka leaves null only where it has tried to read.
        aborted_transactions=None if code in _READ_ERRORS else [],
        records=b"",
    )


def _respond(reader: FetchReader) -> FetchResponse:
    answer = Answer(reader.plan)
    answer.add(reader.found)
    return answer.finished()


class Answer:
    """The response in the making: within a session only what its client does not know yet."""

    __slots__ = ("_current", "_plan", "_response", "_served")

    def __init__(self, plan: FetchPlan) -> None:
        self._plan = plan
        self._response = FetchResponse(session_id=plan.session_id, responses=[])
        self._current: FetchableTopicResponse | None = None
        self._served: list[tuple[str | object, int]] = []

    def add(self, found: Iterable[tuple[FetchItem, PartitionData]]) -> None:
        """Add what was read of some partitions."""
        plan, current = self._plan, self._current
        for item, data in found:
            news = item.is_news(high_watermark=data.high_watermark, log_start=data.log_start_offset)
            has_records = bool(data.records)
            if plan.incremental and not (news or has_records or data.error_code or data.diverging_epoch):
                continue
            if has_records and plan.session:
                self._served.append((item.name or item.topic_id, item.index))
            if current is None or (current.topic, current.topic_id) != (item.name, item.topic_id):
                current = FetchableTopicResponse(topic=item.name, topic_id=item.topic_id, partitions=[])
                self._response.responses.append(current)
            current.partitions.append(data)
        self._current = current

    def finished(self) -> FetchResponse:
        """The whole response."""
        for key in self._served:
            # Partitions that gave records go to the end, so that the others have their turn (KIP-227).
            if key in self._plan.items:
                self._plan.items.move_to_end(key)  # type: ignore[arg-type]
        return self._response
