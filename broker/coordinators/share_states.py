"""The states of share groups, made and deleted as the group coordinator orders it.

A group's state in a partition is kept by the share coordinator (shares.py), and that it is there by the group
coordinator. So that an assigned partition always has one, the first is made before the second notes it.

    InitOrder   --> where it begins (share.auto.offset.reset) --> initialize --durable--> noted, assigned
    DeleteOrder --> delete --durable--> told

The leaders of the partitions do that, which may be other nodes (cluster_states.py).

Source: KIP-932; Kafka 4.3's GroupCoordinatorService.persisterInitialize and deleteShareGroups.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

from broker.catalogue.metadata import Metadata
from broker.coordinators.local_states import LocalStates, Told, after_all
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.loop.slices import (
    ITEMS_PER_STEP,
    PLAIN_ITEMS_PER_STEP,
    Until,
    WaitingSteps,
    chunks,
    in_thread,
)
from groups.share.membership import DeleteOrder, InitOrder, ShareMembership
from groups.share.noting import StatesNote
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.coordinators.cluster_states import ClusterStates
    from broker.coordinators.shares import Shares
    from groups.coordinator import Coordinator

logger = logging.getLogger("kawal.coordinators")

TOLD_FULL_EVERY_MS: Final = 60_000

Answer = TypeVar("Answer")


class ShareStates:
    """Carries out orders in the background."""

    def __init__(
        self,
        metadata: Metadata,
        loop: Loop,
        step: Callable[[int], AbstractContextManager[Coordinator]],
        shares: Callable[[], Shares],
    ) -> None:
        """`step(now_ms)` gives access to the group coordinator, `shares()` returns the share coordinator."""
        self._metadata = metadata
        self._loop = loop
        self._step = step
        self._shares = shares
        self._local = LocalStates(metadata, loop, shares)
        self._cluster = self._cluster_of(metadata.nodes.count)
        # When it may be said again that there is no room.
        self._told_full_ms = 0

    def _cluster_of(self, count: int) -> ClusterStates | None:
        """Return what asks other nodes, if there are some."""
        if count == 1:
            return None
        from broker.coordinators.cluster_states import ClusterStates

        return ClusterStates(self._metadata, self._loop, self._local)

    def carry_out(self, order: InitOrder | DeleteOrder) -> None:
        """Make or delete the states; the group coordinator learns of the outcome."""
        if isinstance(order, InitOrder):
            cluster = self._cluster
            steps = self._initialize(order)
            if cluster is not None:
                steps = self._initialize_in_cluster(order, cluster)
            self._loop.scheduler.add_work(steps)
        else:
            self._delete(order)

    def _initialize(self, order: InitOrder) -> WaitingSteps:
        found: list[tuple[ShareKey, int]] = []
        try:
            order = yield from self._with_room(order)
            for number, (topic_id, index) in enumerate(order.partitions, 1):
                start = yield from self._local.start_of(order.group_id, topic_id, index)
                if start is not None:
                    found.append((ShareKey(order.group_id, topic_id, index), start))
                if not number % ITEMS_PER_STEP:
                    yield None
        except (RequestError, WalError, DiskError) as error:
            logger.error("share group %.100r is not initialized: %s", order.group_id, error)
            self._initialized(order, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        if not order.partitions:
            self._initialized(order, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        told = after_all(len(found), lambda code: self._made(order, code))
        for number, (key, start) in enumerate(found, 1):
            self._local.make(key, start, told)
            if not number % ITEMS_PER_STEP:
                yield None

    def _with_room(self, order: InitOrder) -> Generator[Until | None, None, InitOrder]:
        """Return what of an order there is memory for; the next heartbeat orders the rest again."""
        room = self._shares().room
        if room >= len(order.partitions):
            return order
        kept = []
        for number, (topic_id, index) in enumerate(order.partitions, 1):
            if self._shares().position(ShareKey(order.group_id, topic_id, index)) is not None:
                kept.append((topic_id, index))
            elif room:
                kept.append((topic_id, index))
                room -= 1
            if not number % ITEMS_PER_STEP:
                yield None
        if len(kept) < len(order.partitions) and self._loop.clock.turn_ms >= self._told_full_ms:
            self._told_full_ms = self._loop.clock.turn_ms + TOLD_FULL_EVERY_MS
            logger.warning(
                "share group %.100r has no state in %d partitions: the memory for states is full"
                " (kawal.share.states.max.bytes)",
                order.group_id,
                len(order.partitions) - len(kept),
            )
        return order._replace(partitions=tuple(kept))

    def _initialize_in_cluster(self, order: InitOrder, cluster: ClusterStates) -> WaitingSteps:
        """Have the leaders make the states; those that could not be made the next heartbeat orders again."""
        made = yield from cluster.make(order.group_id, order.partitions)
        if made:
            self._made(InitOrder(order.group_id, tuple(made)), ErrorCode.NONE)
        else:
            self._initialized(order, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _made(self, order: InitOrder, code: ErrorCode) -> None:
        """Tell that the last state is durable: of many in other turns, as many were settled in this."""
        many = self._membership(lambda membership, _: membership.has_many_states(order.group_id))
        if len(order.partitions) <= PLAIN_ITEMS_PER_STEP and not many:
            self._initialized(order, code)
        elif code == ErrorCode.NONE:
            self._loop.scheduler.add_work(self._note(order))
        else:
            self._loop.scheduler.soon(partial(self._initialized, order, code))

    def _note(self, order: InitOrder) -> WaitingSteps:
        """Tell of very many states, whose record a thread writes."""
        names: dict[UUID, str] = {}
        for some in chunks(order.partitions, per_step=PLAIN_ITEMS_PER_STEP):
            for topic_id, _ in some:
                topic = self._metadata.catalogue.find_id(topic_id)
                if topic is not None:
                    names[topic_id] = topic.name
            yield None
        while True:
            note = self._membership(lambda membership, now_ms: membership.note(order, names, now_ms))
            if note is None:
                return
            yield from in_thread(self._loop.scheduler.offload, note.prepare)
            if self._membership(partial(_noted, note)):
                break
        yield None
        self._membership(lambda membership, now_ms: membership.states_noted(order.group_id, now_ms))

    def _membership(self, ask: Callable[[ShareMembership, int], Answer]) -> Answer:
        """Return what the members of share groups answer, in a step of its own."""
        now_ms = self._loop.clock.turn_ms
        with self._step(now_ms) as machine:
            return ask(machine.share(now_ms).membership, now_ms)

    def _initialized(self, order: InitOrder, code: ErrorCode) -> None:
        if code == ErrorCode.NONE:
            self._membership(lambda membership, now_ms: membership.initialized(order, now_ms))
        else:
            self._membership(lambda membership, now_ms: membership.not_initialized(order, now_ms))

    def _delete(self, order: DeleteOrder) -> None:
        def told(code: ErrorCode) -> None:
            at_ms = self._loop.clock.turn_ms
            with self._step(at_ms) as machine:
                machine.share(at_ms)
                order.done(code)

        if self._cluster is None:
            self._local.delete(order.group_id, order.topic_ids, told)
        else:
            self._loop.scheduler.add_work(_told(self._cluster.delete(order.group_id, order.topic_ids), told))


def _noted(note: StatesNote, membership: ShareMembership, now_ms: int) -> bool:
    return membership.noted(note, now_ms)


def _told(steps: Generator[Until | None, None, ErrorCode], told: Told) -> WaitingSteps:
    told((yield from steps))
