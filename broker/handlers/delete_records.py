"""DeleteRecords: v0-2.

Behaviour: a partition's log start moves up to the offset, -1 meaning the high watermark; an offset below the
log start changes nothing.  The answer gives the log start and leaves when it is durable; fetches below it
then answer OFFSET_OUT_OF_RANGE.  The bytes are freed once no stream needs their segment.  A view stores no
records to delete and answers POLICY_VIOLATION, and so does a topic that kawal.deletion.protected protects.
Differences from Apache Kafka: `timeout_ms` is ignored, because there is no other node to wait for.  If a
partition is named twice, the last offset counts, as in Kafka.
Version notes: v2 flexible.  Source: KIP-107.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

from broker.catalogue.guards import check_deletable
from broker.catalogue.view_admin import check_changeable
from broker.errors import RequestError, storage_error
from broker.loop.call import PARKED, Call, Parked
from broker.loop.loop import Loop
from broker.loop.slices import (
    ITEMS_PER_STEP,
    PLAIN_ITEMS_PER_STEP,
    Pace,
    Until,
    WaitingSteps,
    chunks,
    emptied_tables,
    in_slices,
    size_of,
)
from broker.storage.partition import Partition
from broker.storage.vnode import Vnode
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from wal.disk import DiskError
from wal.errors import OffsetOutOfRange, WalError

if TYPE_CHECKING:
    from broker.core import Broker

HIGH_WATERMARK: Final = -1
UNKNOWN: Final = -1


class PendingDeletions:
    """An answer that is complete except for the disk; the moves of each step are awaited from its end."""

    __slots__ = ("_go_on", "call", "loop", "moves", "outstanding", "response")

    def __init__(self, call: Call[DeleteRecordsRequest], response: DeleteRecordsResponse, loop: Loop) -> None:
        self.call = call
        self.response = response
        self.loop = loop
        # The moves of the present step.
        self.moves: dict[Vnode, VnodeMoves] = {}
        # The vnodes that are awaited, and one for the steps of the request itself.
        self.outstanding = 1
        self._go_on: Callable[[], None] | None = None

    def add(self, partition: Partition, version: int, result: DeleteRecordsPartitionResult) -> None:
        """Add a log start whose move is durable with this version."""
        moves = self.moves.get(partition.vnode)
        if moves is None:
            moves = self.moves[partition.vnode] = VnodeMoves(self)
        moves.version = max(moves.version, version)
        moves.results.append((partition, result))

    def await_moves(self) -> None:
        """Await the moves of the present step."""
        moves, self.moves = self.moves, {}
        self.outstanding += len(moves)
        for vnode, part in moves.items():
            vnode.wait_durable(part.version, part, self.call.received_ms)

    def until_settled(self) -> Until:
        """Return what is waited for until all moves so far are durable, or lost."""

        def start(resume: Callable[[], None]) -> None:
            if self.outstanding == 1:
                resume()
            else:
                self._go_on = resume

        return Until(start)

    def settled(self) -> None:
        """Count down; answer after the last one."""
        self.outstanding -= 1
        if self.outstanding == 1 and self._go_on is not None:
            go_on, self._go_on = self._go_on, None
            go_on()
        if not self.outstanding:
            self.call.reply_in_thread(self.response, self.loop.scheduler.offload)


class VnodeMoves:
    """The log starts that one step has moved on one vnode."""

    __slots__ = ("pending", "results", "version")

    def __init__(self, pending: PendingDeletions) -> None:
        self.pending = pending
        self.results: list[tuple[Partition, DeleteRecordsPartitionResult]] = []
        self.version = -1

    def appended(self, _vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Settle the moves."""
        for partition, result in self.results:
            if error is None:
                result.low_watermark = partition.log_start
                self.pending.loop.waiters.log_start_moved(partition.wait_key, now_ms)
            else:
                result.error_code = error
        self.pending.settled()


MOVES_AT_ONCE: Final = 400
"""The moves on their way to the disk at a time, in all logs: those of one sync become durable in one turn of
the event loop, at 4 to 8 us each."""

PARTITIONS_PER_SLICE: Final = 100
"""The number of partitions handled without a pause."""


def handle(broker: Broker, call: Call[DeleteRecordsRequest]) -> Parked | WaitingSteps:
    """Move the log start of every partition, then answer when all moves are durable."""
    count = size_of(call.request.topics, lambda topic: topic.partitions)
    answer: Parked | WaitingSteps = in_slices(
        _delete_all(broker, call), count, per_slice=PARTITIONS_PER_SLICE
    )
    return answer


def _delete_all(broker: Broker, call: Call[DeleteRecordsRequest]) -> WaitingSteps:
    response = DeleteRecordsResponse(topics=[])
    pending = PendingDeletions(call, response, broker)
    moved: set[Vnode] = set()
    done = 0
    asked = yield from _asked(call.request)
    for name, offsets in asked.items():
        results: list[DeleteRecordsPartitionResult] = []
        response.topics.append(DeleteRecordsTopicResult(name=name, partitions=results))
        for index, offset in offsets.items():
            result = DeleteRecordsPartitionResult(partition_index=index, low_watermark=UNKNOWN)
            results.append(result)
            try:
                partition = _find(broker, name, index)
                version = _delete(broker, partition, offset)
                pending.add(partition, version, result)
                moved.add(partition.vnode)
            except RequestError as error:
                result.error_code = error.code
            done += 1
            if not done % ITEMS_PER_STEP:
                pending.await_moves()
                yield None
            if not done % MOVES_AT_ONCE:
                yield pending.until_settled()
    if moved:
        broker.retirement.soon(moved, call.received_ms)
    pending.await_moves()
    yield from emptied_tables(asked)
    pending.settled()
    return PARKED


def _asked(request: DeleteRecordsRequest) -> Generator[None, None, dict[str, dict[int, int]]]:
    """Return the offsets by topic and partition."""
    asked: dict[str, dict[int, int]] = {}
    pace = Pace(PLAIN_ITEMS_PER_STEP)
    for topic in request.topics:
        for part in chunks(topic.partitions, per_step=PLAIN_ITEMS_PER_STEP):
            offsets = asked.setdefault(topic.name, {})
            offsets.update((item.partition_index, item.offset) for item in part)
            if pace.due(len(part)):
                yield
        if pace.due():
            yield
    return asked


def _find(broker: Broker, name: str, index: int) -> Partition:
    topic = broker.find_topic(name)
    partition = broker.topics.partition(topic, index)
    if topic.internal:
        raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    check_changeable(topic, "it stores no records that could be deleted")
    check_deletable(topic, broker.catalogue, broker.config)
    settings = broker.topics.settings(topic)
    if settings.compacts and not settings.deletes:
        raise RequestError(ErrorCode.POLICY_VIOLATION)
    return partition


def _delete(broker: Broker, partition: Partition, offset: int) -> int:
    """Move the log start, and return the version whose durability makes the move durable.

    Views WITH META show the deletion.
    """
    wanted = partition.high_watermark if offset == HIGH_WATERMARK else offset
    log, before = partition.vnode.log, partition.log_start
    try:
        version = log.set_log_start(partition.stream_id, wanted)
    except OffsetOutOfRange as error:
        raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE) from error
    except (WalError, DiskError) as error:
        raise storage_error(error) from error
    partition.vnode.last_version = max(partition.vnode.last_version, version)
    if wanted > before:
        broker.metadata_log.changes.records_deleted(
            partition, wanted, broker.clock.wall_ms(broker.clock.turn_ms)
        )
    return partition.vnode.last_version
