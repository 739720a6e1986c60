"""The transaction coordinator in the broker: its topic, its settings, and the markers that it orders.

    decision --appended--> markers of the same log, COMPLETE record          one sync for all of them
             --durable---> markers of other logs --durable--> COMPLETE record

What comes later in a log is not durable before what comes earlier: if all partitions of a transaction lie on
the vnode that holds its state, the whole end of the transaction is one group commit.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic_admin import NewTopic, transactions_topic
from broker.catalogue.topics import TRANSACTIONS_TOPIC
from broker.coordinators.markers import Marker, Markers, Refused
from broker.coordinators.runtime import CoordinatorRuntime
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.loop.slices import Steps
from groups.effects import EndMarker
from groups.transactions.config import TransactionConfig
from groups.transactions.coordinator import TransactionCoordinator
from groups.transactions.enlisting import Member
from groups.transactions.table import MarkerOrder
from groups.transactions.transaction import TV2, TopicPartition
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.producer_ids import ProducerIds
    from broker.storage.vnode import Vnode

logger = logging.getLogger("kawal.coordinators")

AT_ONCE_MAX: Final = 50
"""The most markers that are written in the turn of a request: about 1 ms."""

_SUPERSEDED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
"""Outcomes that another attempt cannot change: the partition has a later end of the producer already."""


FENCED_SINCE: Final = 2
"""The first version of most requests whose clients know PRODUCER_FENCED."""


def shown(code: ErrorCode, version: int, fenced_since: int) -> ErrorCode:
    """Return the code that a client of this version understands."""
    if code == ErrorCode.PRODUCER_FENCED and version < fenced_since:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


class TransactionKind:
    """Makes transaction coordinators (the Kind of runtime.py)."""

    topic_name = TRANSACTIONS_TOPIC

    def __init__(self, metadata: Metadata, loop: Loop, ids: ProducerIds) -> None:
        self._metadata = metadata
        self._loop = loop
        self._ids = ids
        self.runtime: Transactions | None = None

    def new_topic(self) -> NewTopic:
        """Return `__transaction_state` as configured."""
        return transactions_topic(self._metadata.config)

    def new_machine(self, partition_count: int) -> TransactionCoordinator:
        """Return a coordinator of no transactional ids."""
        return TransactionCoordinator(
            config=self._config(partition_count), take_id=self._take_id, wall_ms=self._loop.clock.wall_ms
        )

    def configure(self, machine: TransactionCoordinator, partition_count: int) -> None:
        """Apply the server's settings."""
        machine.configure(self._config(partition_count))

    def _config(self, partition_count: int) -> TransactionConfig:
        config = self._metadata.live_config.current
        values: dict[str, Any] = {
            field.name: config.value(field.name.replace("_", ".")) for field in fields(TransactionConfig)
        }
        values["transaction_state_log_num_partitions"] = partition_count
        return TransactionConfig(**values)

    def _take_id(self, done: Callable[[int | ErrorCode], None]) -> None:
        def taken(found: int | ErrorCode) -> None:
            assert self.runtime is not None
            with self.runtime.step(self._loop.clock.turn_ms):
                done(found)

        try:
            self._ids.take(taken, self._loop.clock.turn_ms)
        except RequestError as error:
            taken(error.code)


class Transactions(CoordinatorRuntime[TransactionCoordinator]):
    """The running transaction coordinator."""

    def __init__(
        self, metadata: Metadata, loop: Loop, ids: ProducerIds, writer: Markers, now_ms: int
    ) -> None:
        kind = TransactionKind(metadata, loop, ids)
        kind.runtime = self
        self._writer = writer
        self._queue: deque[MarkerOrder] = deque()
        self._is_writing = False
        super().__init__(kind, metadata, loop, now_ms)

    def state_vnode(self, transactional_id: str) -> Vnode | None:
        """Return the vnode whose log has the state of an id; None while there is no topic."""
        topic = self._metadata.catalogue.find(TRANSACTIONS_TOPIC)
        if topic is None or not topic.recorded:
            return None
        index = self._machine.partition_of(transactional_id)
        return self._metadata.topics.partition(topic, index).vnode

    def written_to(self, member: Member, places: list[TopicPartition]) -> Vnode | None:
        """Return the vnode whose log has the record that a transaction has these partitions, durable or not.

        None if there is no such record yet.
        """
        if self._backlog or any(self._machine.is_enlisted(member, place) for place in places):
            return None
        return self.state_vnode(member.transactional_id)

    def _pump(self, now_ms: int) -> None:
        super()._pump(now_ms)
        while orders := self._machine.take_orders():
            for order in orders:
                self._carry_out(order)
            super()._pump(now_ms)

    # --- markers ---------------------------------------------------------------------------------------

    def _carry_out(self, order: MarkerOrder) -> None:
        """Write the markers of a decision: now, if its log keeps the order, or when it is durable."""
        if not self._machine.is_wanted(order):
            return
        if order.prepared is None or order.prepared.settled:
            self._enqueue(order)
        elif self._is_in_one_log(order):
            self._write_at_once(order)
        else:
            order.prepared.wait(lambda error, _now_ms: None if error else self._enqueue(order))

    def _is_in_one_log(self, order: MarkerOrder) -> bool:
        if self._backlog or len(order.enlisted) > AT_ONCE_MAX:
            return False
        home = self.state_vnode(order.transactional_id)
        return all(self._writer.goes_to(place, home) for place in order.enlisted)

    def _write_at_once(self, order: MarkerOrder) -> None:
        """Write markers after their decision in the same log; the COMPLETE record follows in it, too."""
        refused: dict[TopicPartition, ErrorCode] = {}
        is_complete = False

        def done(found: Refused) -> None:
            refused.update(_unwritten(order, found))
            if is_complete and refused:
                logger.error("markers of transaction %r were lost: %s", order.transactional_id, refused)

        for _ in self._writer.steps(self._marker(order), order.partitions, done):
            continue
        # What the log has refused is known by now. What it loses later, it loses with the COMPLETE record.
        is_complete = True
        now_ms = self._loop.clock.turn_ms
        if refused:
            self._machine.not_marked(order, now_ms)
        else:
            self._machine.marked(order, now_ms)

    def _enqueue(self, order: MarkerOrder) -> None:
        self._queue.append(order)
        if not self._is_writing:
            self._is_writing = True
            self._loop.scheduler.add_work(self._write_queue())

    def _write_queue(self) -> Steps:
        try:
            while self._queue:
                order = self._queue.popleft()
                if self._machine.is_wanted(order):
                    yield from self._write(order)
        finally:
            self._is_writing = False

    def _write(self, order: MarkerOrder) -> Iterator[None]:
        machine = self._machine

        def done(found: Refused) -> None:
            refused = _unwritten(order, found)
            now_ms = self._loop.clock.turn_ms
            if machine is not self._machine:
                return
            with self.step(now_ms):
                if refused:
                    logger.warning(
                        "markers of transaction %r wait: %s",
                        order.transactional_id,
                        dict(islice(refused.items(), 5)),
                    )
                    machine.not_marked(order, now_ms)
                else:
                    machine.marked(order, now_ms)

        yield from self._writer.steps(self._marker(order), order.partitions, done)

    def _marker(self, order: MarkerOrder) -> Marker:
        end = EndMarker(order.producer_id, order.epoch, self._metadata.topics.leader_epoch, order.commit)
        return Marker(end, bumps_epoch=order.client_version == TV2)


def _unwritten(order: MarkerOrder, refused: Refused) -> dict[TopicPartition, ErrorCode]:
    """Return the partitions that still need their marker; those that were deleted need none."""
    for place, code in refused.items():
        if code in _SUPERSEDED:
            logger.error(
                "%s-%d has a later end than that of %r: %s", *place, order.transactional_id, code.name
            )
    needless = _SUPERSEDED | {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    return {place: code for place, code in refused.items() if code not in needless}
