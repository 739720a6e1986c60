"""The group coordinator in the broker: its topic, its settings, and the facts that other parts read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic_admin import NewTopic, offsets_topic
from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators.group_settings import group_config, group_settings, share_group_config
from broker.coordinators.node_splits import NodeSplits
from broker.coordinators.runtime import CoordinatorRuntime
from broker.loop.call import Call
from broker.loop.loop import Loop
from broker.security.authorized_operations import Operation
from groups.clients import ClientIndex
from groups.coordinator import Coordinator
from groups.fetchers import ById, Round
from groups.memory import GroupMemory
from groups.offset_room import OffsetRoom
from groups.offset_values import Committed
from groups.record_keys import OffsetKey
from groups.topics import Client
from protocol.primitives import STRING_SIZE_MAX, cut_text

if TYPE_CHECKING:
    from random import Random

    from broker.coordinators.share_states import ShareStates
    from broker.coordinators.shares import Shares


RANGES_MAX: Final = 2_000
"""Ranges of a view that are counted for a commit, in 4 ms at most."""


class GroupKind:
    """Makes group coordinators (the Kind of runtime.py)."""

    topic_name = OFFSETS_TOPIC

    def __init__(self, metadata: Metadata, loop: Loop, random: Random, shares: Callable[[], Shares]) -> None:
        """`shares()` returns the share coordinator."""
        self._metadata = metadata
        self._shares = shares
        self._loop = loop
        self._random = random

    def new_topic(self) -> NewTopic:
        """Return `__consumer_offsets` as configured."""
        return offsets_topic(self._metadata.config)

    def new_machine(self, partition_count: int) -> Coordinator:
        """Return a coordinator of no groups."""
        metadata = self._metadata
        config = group_config(metadata.live_config)
        coordinator = Coordinator(
            splits=NodeSplits(metadata, self._loop, self._shares),
            config=replace(config, offsets_topic_num_partitions=partition_count),
            topics=metadata.catalogue,
            random=self._random,
            wall_ms=self._loop.clock.wall_ms,
            settings=lambda group_id: group_settings(metadata.catalogue, metadata.live_config, group_id),
            rows_between=self._rows_between,
            offload=self._loop.scheduler.offload,
            background=self._loop.scheduler.add_work,
            share_settings=lambda group_id: share_group_config(metadata, group_id),
        )
        if metadata.nodes.count > 1:
            coordinator.watch_offsets()
        return coordinator

    def _rows_between(self, topic_name: str, index: int, start: int, end: int) -> int:
        """Return how many records a reader of a partition was shown between two offsets."""
        topic = self._metadata.catalogue.find(topic_name)
        if topic is None or index >= topic.partition_count:
            return end - start
        partition = self._metadata.topics.here(topic, index)
        if partition is None:
            return end - start
        return partition.records_between(start, end, ranges_max=RANGES_MAX).shown

    def configure(self, machine: Coordinator, partition_count: int) -> None:
        """Apply the server's settings; those of single groups are looked up at every use."""
        config = group_config(self._metadata.live_config)
        machine.configure(replace(config, offsets_topic_num_partitions=partition_count))


class Groups(CoordinatorRuntime[Coordinator]):
    """The running group coordinator, and the few facts that other parts of the broker read from it."""

    def __init__(
        self, metadata: Metadata, loop: Loop, random: Random, now_ms: int, shares: Callable[[], Shares]
    ) -> None:
        super().__init__(GroupKind(metadata, loop, random, shares), metadata, loop, now_ms)
        self._shares = shares
        self._states: ShareStates | None = None

    def _pump(self, now_ms: int) -> None:
        super()._pump(now_ms)
        orders = self._machine.take_share_orders()
        if orders and self._states is None:
            from broker.coordinators.share_states import ShareStates

            self._states = ShareStates(self._metadata, self._loop, self.step, self._shares)
        for order in orders:
            assert self._states is not None
            self._states.carry_out(order)

    @property
    def is_loaded(self) -> bool:
        """Whether all groups are known; before that, `committed` may miss some."""
        return self._machine.is_loaded

    @property
    def memory(self) -> GroupMemory:
        """The memory that the members of groups take."""
        return self._machine.memory

    @property
    def offset_room(self) -> OffsetRoom:
        """The memory of committed offsets."""
        return self._machine.offset_room

    @property
    def clients(self) -> ClientIndex:
        """The members of groups by client."""
        return self._machine.clients

    def held(self, group_id: str, member_id: str) -> tuple[ById, ...] | bytes:
        """Return what a member has and what it gives up; of a classic member its encoded assignment."""
        return self._machine.held(group_id, member_id)

    def are_known(self, group_ids: Collection[str]) -> bool:
        """Whether the members of all these groups are known, as far as they are coordinated here."""
        return self._machine.are_known(group_ids)

    def rounds(self, group_ids: Collection[str]) -> Generator[None, None, tuple[Round, ...]]:
        """Return epoch or generation, and the number of members, of each of these groups that exists."""
        return self._machine.rounds(group_ids)

    def committed(self, group_id: str, topic: str, partition: int) -> Committed | None:
        """Return the durable progress of a group in one partition."""
        return self._machine.committed(group_id, topic, partition)

    def knows(self, _group_id: str) -> bool:
        """Whether this is where the progress of a group is known: it is, once `is_loaded`, on one node."""
        return True

    def position(self, group_id: str, topic: str, partition: int) -> int | None:
        """Return the offset of the durable progress of a group in one partition."""
        return self._machine.position(OffsetKey(group_id, topic, partition))

    def topics_read(self, group_id: str) -> set[str]:
        """Return the topics that a group subscribes to or has committed offsets in."""
        return self._machine.topics_read(group_id)

    def subscribers(self, topic: str) -> list[str]:
        """Return the groups with members that subscribe to a topic."""
        return self._machine.subscribers(topic)


def partition_of(groups: Groups, group_id: str, now_ms: int) -> int:
    """Return the partition of __consumer_offsets that holds a group."""
    with groups.step(now_ms) as coordinator:
        return coordinator.partition_of(group_id)


def coordinates(groups: Groups, partition: int, now_ms: int) -> bool:
    """Whether the groups of a partition of __consumer_offsets are coordinated by this node."""
    with groups.step(now_ms) as coordinator:
        return coordinator.coordinates(partition)


def client_of(call: Call[Any]) -> Client:
    """Return the sender of a call, in the form the coordinator shows.

    Bytes that are not UTF-8 are read as longer characters: the name is cut to the size of a string.
    """
    client_id = cut_text(call.client_id or "", STRING_SIZE_MAX)
    return Client(
        version=call.version,
        client_id=client_id,
        host=f"/{call.connection.host}",
        user=call.connection.principal.partition(":")[2],
        sees=None if call.rights is None else partial(call.rights.may_topic, Operation.DESCRIBE),
    )
