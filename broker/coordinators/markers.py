"""Writing the ends of transactions into partitions: the one way, for the coordinator and for administrators.

    a stored partition of this node    a control batch in its log; readers of committed data move on
    a partition of __consumer_offsets  through the group coordinator: its offsets count, or do not

All markers of one call join the open frames of their logs, so each log syncs once for all of them. A marker
that repeats one that is there is not written again.
Source: KIP-98, KIP-664, KIP-890, KIP-1228; Kafka 4.3's handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import OFFSETS_TOPIC, Topic
from broker.coordinators.records import MarkerBatch
from broker.errors import RequestError, storage_error
from broker.loop.loop import Loop
from broker.storage.transaction_guards import TransactionGuards, offsets_key
from groups.effects import EndMarker
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.errors import StreamDropped, WalError
from wal.producer_errors import CoordinatorFenced, InvalidProducerEpoch

if TYPE_CHECKING:
    from broker.coordinators.groups import Groups
    from broker.storage.partition import Partition
    from broker.storage.vnode import Vnode

MARKERS_PER_STEP = 25
"""The markers written between two looks at the time: about 1 ms."""

TopicPartition = tuple[str, int]
Refused = Mapping[TopicPartition, ErrorCode]
"""The partitions that did not get their marker, and why."""

Done = Callable[[Refused], None]


class Marker(NamedTuple):
    """The end of a transaction, and how strictly its epoch is judged."""

    end: EndMarker
    bumps_epoch: bool
    """The marker's epoch is above that of the transaction's records (transaction.version 2)."""


class Markers(Protocol):
    """Writes markers for the coordinator."""

    def goes_to(self, place: TopicPartition, home: Vnode | None) -> bool:
        """Whether a partition's marker would be the next entry of this vnode's log, or is not needed."""

    def steps(self, marker: Marker, partitions: tuple[TopicPartition, ...], done: Done) -> Iterator[None]:
        """Write a marker to partitions; yield now and then. `done` when all is durable, or has failed."""


class MarkerWriter:
    """Writes markers to partitions that this node leads, and reports when all of one call are durable."""

    def __init__(
        self, metadata: Metadata, loop: Loop, guards: TransactionGuards, groups: Callable[[], Groups]
    ) -> None:
        self._metadata = metadata
        self._loop = loop
        self._guards = guards
        self._groups = groups

    def goes_to(self, place: TopicPartition, home: Vnode | None) -> bool:
        """Whether a partition's marker would be the next entry of this vnode's log, or is not needed."""
        partition = self._find(place)
        if place[0] == OFFSETS_TOPIC and self._groups().has_backlog:
            return False
        return isinstance(partition, ErrorCode) or partition.vnode is home

    def steps(self, marker: Marker, partitions: tuple[TopicPartition, ...], done: Done) -> Iterator[None]:
        """Write a marker to partitions; yield now and then. `done` when all is durable, or has failed."""
        pending = _Pending(done)
        batch = MarkerBatch(marker.end, self._loop.clock.wall_ms(self._loop.clock.turn_ms))
        for number, place in enumerate(partitions):
            self._write(marker, batch, place, pending)
            if number % MARKERS_PER_STEP == MARKERS_PER_STEP - 1:
                pending.await_appends(self._loop.clock.turn_ms)
                yield
        pending.await_appends(self._loop.clock.turn_ms)
        pending.settled()

    def _write(self, marker: Marker, batch: MarkerBatch, place: TopicPartition, pending: _Pending) -> None:
        end = marker.end
        name, index = place
        partition = self._find(place)
        if name == OFFSETS_TOPIC:
            self._guards.marked(offsets_key(index), end.producer_id)
        if isinstance(partition, ErrorCode):
            if name == OFFSETS_TOPIC and self._groups().has_backlog:
                # Offsets of the transaction may wait for the topic; the marker comes after them.
                self._end_in_groups(index, end, place, pending)
            else:
                pending.refuse(place, partition)
            return
        producers = partition.vnode.log.producers(partition.stream_id)
        try:
            is_new = producers.check_marker(batch.marker, bumps_epoch=marker.bumps_epoch)
            self._guards.marked(partition.stream_id, end.producer_id)
            if not is_new:
                # The marker that it repeats may still be on its way to the disk.
                pending.add(partition.vnode, place)
            elif name == OFFSETS_TOPIC:
                self._end_in_groups(index, end, place, pending)
            else:
                append_time = self._metadata.topics.settings(partition.topic).append_time
                batch.append(partition, append_time=append_time)
                pending.add(partition.vnode, place)
        except InvalidProducerEpoch:
            pending.refuse(place, ErrorCode.INVALID_PRODUCER_EPOCH)
        except CoordinatorFenced:
            pending.refuse(place, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
        except StreamDropped:
            pending.refuse(place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        except (WalError, DiskError) as error:
            pending.refuse(place, storage_error(error).code)

    def _end_in_groups(self, index: int, end: EndMarker, place: TopicPartition, pending: _Pending) -> None:
        pending.outstanding += 1

        def written(error: ErrorCode | None, _now_ms: int) -> None:
            if error is not None:
                pending.refuse(place, error)
            pending.settled()

        now_ms = self._loop.clock.turn_ms
        with self._groups().step(now_ms) as machine:
            machine.end_transaction(index, end, written, now_ms)

    def _find(self, place: TopicPartition) -> Partition | ErrorCode:
        name, index = place
        topic: Topic | None = self._metadata.catalogue.find(name)
        if topic is None or topic.view is not None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        try:
            return self._metadata.topics.partition(topic, index)
        except RequestError as error:
            error.__traceback__ = None
            return error.code


class _Pending:
    """The outcome of one call; complete when nothing is outstanding."""

    def __init__(self, done: Done) -> None:
        self._refused: dict[TopicPartition, ErrorCode] = {}
        # One for the steps themselves, and one for each wait.
        self.outstanding = 1
        self._done = done
        self._appends: dict[Vnode, list[TopicPartition]] = {}

    def refuse(self, place: TopicPartition, code: ErrorCode) -> None:
        """Note a partition that gets no marker."""
        self._refused[place] = code

    def add(self, vnode: Vnode, place: TopicPartition) -> None:
        """Note a marker that was appended."""
        self._appends.setdefault(vnode, []).append(place)

    def await_appends(self, now_ms: int) -> None:
        """Wait for what was appended since the last call."""
        appends, self._appends = self._appends, {}
        for vnode, places in appends.items():
            self.outstanding += 1
            vnode.wait_durable(vnode.last_version, _Waiter(self, places), now_ms)

    def settled(self) -> None:
        """Count down; report after the last."""
        self.outstanding -= 1
        if not self.outstanding:
            self._done(self._refused)


class _Waiter:
    """Waits for the markers in one log."""

    __slots__ = ("_pending", "_places")

    def __init__(self, pending: _Pending, places: list[TopicPartition]) -> None:
        self._pending = pending
        self._places = places

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Take the outcome."""
        if error is not None:
            for place in self._places:
                self._pending.refuse(place, error)
        self._pending.settled()
