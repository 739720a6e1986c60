"""Fetch: v4-18.

Behaviour: whole batches from the one that holds the offset, never beyond the high watermark; the first batch
of the answer is sent even when it is larger than every limit (KIP-74).  A fetch with less than `min_bytes`
is parked and woken by the bytes that arrive, not by a clock.  Sessions: broker/fetch_sessions.py.
Differences from Apache Kafka: replicas do not exist, so `replica_id` is ignored; every record that can be
fetched is durable (the high watermark follows the sync).
Version notes: v7 sessions (KIP-227); v9 leader epochs (KIP-320); v11 rack id (ignored); v12 flexible,
last fetched epoch (KIP-595); v13 topic ids (KIP-516); v15-18 replica fields (ignored).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker.call import PARKED, Call, Parked
from broker.errors import RequestError, storage_error
from broker.fetch_sessions import FetchItem, FetchPlan
from broker.partition import LEADER_EPOCH, Partition
from broker.slices import ITEMS_PER_SLICE, Steps, chunks
from broker.waiters import ParkedFetch
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

    __slots__ = ("broker", "found", "has_error", "plan", "read_committed", "room_bytes", "size_bytes")

    def __init__(self, broker: Broker, request: FetchRequest, plan: FetchPlan) -> None:
        self.broker = broker
        self.plan = plan
        self.read_committed = request.isolation_level == READ_COMMITTED
        self.room_bytes = min(
            request.max_bytes, broker.config.fetch_max_bytes, broker.flow.fetch_room_bytes()
        )
        self.size_bytes = 0
        self.has_error = False
        self.found: list[tuple[FetchItem, PartitionData]] = []

    def read(self, items: Iterable[FetchItem]) -> None:
        """Read these partitions of the plan, in the plan's order."""
        for item in items:
            data = self._read(item)
            if data.error_code or data.diverging_epoch is not None:
                self.has_error = True
            self.found.append((item, data))

    def is_enough(self, request: FetchRequest) -> bool:
        """Whether what was read is to be answered now."""
        return self.size_bytes >= request.min_bytes or self.has_error or request.max_wait_ms <= 0

    def is_outdated(self) -> bool:
        """Whether records have come since the partitions were read."""
        topics = self.broker.topics
        return any(
            item.topic is None
            or topics.partition(item.topic, item.index).high_watermark != data.high_watermark
            for item, data in self.found
        )

    def _read(self, item: FetchItem) -> PartitionData:
        try:
            partition = find_partition(self.broker, item)
            # Here, and only here, Kafka takes every negative epoch for none.
            check_leader_epoch(max(item.leader_epoch, NO_EPOCH))
            return self._read_records(item, partition)
        except RequestError as error:
            return _error_data(item, error.code)

    def _read_records(self, item: FetchItem, partition: Partition) -> PartitionData:
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
            return data
        if item.fetch_offset == high_watermark:
            return data
        try:
            result = partition.vnode.log.read(
                partition.stream_id,
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
        return data


def handle(broker: Broker, call: Call[FetchRequest]) -> FetchResponse | Parked | Steps:
    """Answer with what is there, or park until enough is."""
    request = call.request
    try:
        plan = broker.fetch_sessions.plan(
            request, uses_topic_ids=call.version >= TOPIC_IDS_VERSION, now_ms=call.received_ms
        )
    except RequestError as error:
        return FetchResponse(error_code=error.code, session_id=0, responses=[])
    reader = FetchReader(broker, request, plan)
    if len(plan.items) > ITEMS_PER_SLICE:
        return _read_in_slices(reader, call, may_park=True)
    reader.read(plan.items.values())
    if reader.is_enough(request) or not plan.items:
        return _respond(reader)
    _park(broker, call, plan, reader.size_bytes)
    return PARKED


def _read_in_slices(reader: FetchReader, call: Call[FetchRequest], *, may_park: bool) -> Steps:
    """The same for a plan of many partitions, which other requests may change in between."""
    for items in chunks(tuple(reader.plan.items.values())):
        reader.read(items)
        yield
    if may_park and not reader.is_enough(call.request) and not reader.is_outdated():
        _park(reader.broker, call, reader.plan, reader.size_bytes)
        return PARKED
    answer = Answer(reader.plan)
    for found in chunks(reader.found):
        answer.add(found)
        yield
    return answer.finished()


def _park(broker: Broker, call: Call[FetchRequest], plan: FetchPlan, size_bytes: int) -> None:
    # The session may change before the fetch is woken only through a later request of the same client, whose
    # answer then follows this one; reading the plan's items at that time is what Kafka does as well.
    def resume(_now_ms: int) -> None:
        reader = FetchReader(broker, call.request, plan)
        if len(plan.items) > ITEMS_PER_SLICE:
            broker.slices.begin(call, _read_in_slices(reader, call, may_park=False))
            return
        reader.read(plan.items.values())
        call.reply(_respond(reader))

    stream_ids = {item.topic.stream_id(item.index) for item in plan.items.values() if item.topic is not None}
    fetch = ParkedFetch(
        call,
        stream_ids=list(stream_ids),
        size_bytes=size_bytes,
        min_bytes=call.request.min_bytes,
        resume=resume,
    )
    broker.fetch_waiters.park(fetch, deadline_ms=call.received_ms + call.request.max_wait_ms)


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
    end_offset = partition.vnode.log.next_offset(partition.stream_id)
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
