"""The share coordinator in the broker, and its topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic_admin import NewTopic, share_state_topic
from broker.catalogue.topics import SHARE_STATE_TOPIC

# Where a setting below is looked up: a long table, which takes 3 ms to import.
from broker.config.kafka_keys import KAFKA_KEYS as KAFKA_KEYS
from broker.coordinators.group_settings import number
from broker.coordinators.runtime import CoordinatorRuntime
from broker.coordinators.share_settings import limits_of
from broker.loop.loop import Loop
from broker.storage.vnode import Vnode
from groups.effects import Effects
from groups.errors import NotLoaded
from groups.share.config import ShareConfig
from groups.share.coordinator import ShareCoordinator
from groups.share.share_partition import SharePartition
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

    from broker.coordinators.kept_states import KeptStates
    from broker.coordinators.states_elsewhere import StatesElsewhere


class ShareKind:
    """Makes share coordinators (the Kind of runtime.py)."""

    topic_name = SHARE_STATE_TOPIC

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._metadata = metadata
        self._loop = loop

    def new_topic(self) -> NewTopic:
        """Return `__share_group_state` as configured."""
        return share_state_topic(self._metadata.live_config.layers)

    def new_machine(self, partition_count: int) -> ShareCoordinator:
        """Return a coordinator of no share-partitions."""
        return ShareCoordinator(
            config=self._config(partition_count),
            topics=self._metadata.catalogue,
            limits=lambda group_id: limits_of(self._metadata, group_id),
            wall_ms=self._loop.clock.wall_ms,
            leads=self._leads,
        )

    def _leads(self, key: ShareKey) -> bool:
        """Whether this node leads the partition of a share-partition; without a topic no node does."""
        nodes = self._metadata.nodes
        topic = None if nodes.count == 1 else self._metadata.catalogue.find_id(key.topic_id)
        if topic is None or not 0 <= key.partition < topic.partition_count:
            return True
        return self._metadata.topics.leader(topic, key.partition)[0] == nodes.own_id

    def configure(self, machine: ShareCoordinator, partition_count: int) -> None:
        """Apply the server's settings; those of single groups are looked up at every use."""
        machine.configure(self._config(partition_count))

    def _config(self, partition_count: int) -> ShareConfig:
        layers = self._metadata.live_config.layers
        return ShareConfig(
            share_coordinator_state_topic_num_partitions=partition_count,
            share_coordinator_snapshot_update_records_per_snapshot=number(
                layers.value("share.coordinator.snapshot.update.records.per.snapshot")
            ),
            kawal_share_states_max_bytes=self._metadata.config.kawal_share_states_max_bytes,
            kawal_share_ranges_max_bytes=self._metadata.config.kawal_share_ranges_max_bytes,
        )


class Shares(CoordinatorRuntime[ShareCoordinator]):
    """The running share coordinator: it serves the share-partitions of partitions that this node leads."""

    def __init__(self, metadata: Metadata, loop: Loop, now_ms: int, random: Random) -> None:
        self.on_freed: Callable[[list[ShareKey]], None] | None = None
        self._on_archiving: Callable[[list[ShareKey]], None] | None = None
        self._random = random
        super().__init__(ShareKind(metadata, loop), metadata, loop, now_ms)

    # --- several nodes --------------------------------------------------------------------------------------

    @property
    def machine(self) -> ShareCoordinator:
        """The machine with the states."""
        return self._machine

    @cached_property
    def _states_elsewhere(self) -> StatesElsewhere:
        from broker.coordinators.states_elsewhere import StatesElsewhere

        return StatesElsewhere(self._metadata, self._loop, self)

    @cached_property
    def kept(self) -> KeptStates:
        """The states that this node stores for others."""
        from broker.coordinators.kept_states import KeptStates

        return KeptStates(self._metadata, self._loop, self, self._random)

    def _begin_elsewhere(self, partitions: Sequence[int], now_ms: int) -> None:
        """Load the states that other nodes store."""
        if partitions:
            self._machine.unload(partitions, now_ms)
            self._states_elsewhere.load(partitions)

    def _append_elsewhere(self, effects: Effects, now_ms: int) -> None:
        if self._states_elsewhere.send(effects):
            self._in_flight += 1
        else:
            self._machine.failed(effects, ErrorCode.NOT_COORDINATOR, now_ms)

    def loaded_elsewhere(self, home: int, machine: ShareCoordinator) -> None:
        """Serve the share-partitions of a home, and wake fetches that wait for them."""
        self._loaded(machine, home)
        now_ms = self._loop.clock.turn_ms
        with self.step(now_ms):
            for share in machine.table.of_partition(home):
                machine.table.note_freed(share.key)

    def stored_elsewhere(self, effects: Sequence[Effects]) -> None:
        """Settle changes of one home that are durable."""
        now_ms = self._loop.clock.turn_ms
        self._in_flight -= len(effects)
        with self.step(now_ms) as machine:
            for each in effects:
                machine.durable(each, now_ms)
        self._stop_when_stored(now_ms)

    def lost_elsewhere(self, home: int, count: int) -> None:
        """Forget all of a home; what waits for its changes is refused."""
        now_ms = self._loop.clock.turn_ms
        self._in_flight -= count
        with self.step(now_ms) as machine:
            machine.unload((home,), now_ms)
        self._stop_when_stored(now_ms)

    def load_again(self, home: int) -> None:
        """Load a home again, as what is known of it is not what is stored."""
        if not self._stopping:
            self._unload(home, self._loop.clock.turn_ms)

    def _unload(self, partition: int, now_ms: int) -> None:
        if partition in self._machine.table.elsewhere:
            self._states_elsewhere.start_again(partition)
            return
        self.kept.forget(partition)
        super()._unload(partition, now_ms)

    # --- the coordinator ------------------------------------------------------------------------------------

    def _pump(self, now_ms: int) -> None:
        super()._pump(now_ms)
        freed = self._machine.take_freed()
        if freed and self.on_freed is not None:
            self.on_freed(freed)
        if self._on_archiving is not None and (archiving := self._machine.take_archiving()):
            self._on_archiving(archiving)

    def tell_archiving(self, told: Callable[[list[ShareKey]], None], now_ms: int) -> None:
        """Tell of share-partitions with records that wait for dead letters: of those known now at once."""
        self._on_archiving = told
        self._pump(now_ms)

    def look(self, key: ShareKey) -> SharePartition:
        """Return a share-partition, for reading: what is only read leaves nothing to be stored.

        Raises: NotLoaded, GroupNotFound.
        """
        return self._machine.known(key)

    @property
    def room(self) -> int:
        """The number of share-partitions for which there is memory yet."""
        return self._machine.room

    def position(self, key: ShareKey) -> int | None:
        """Return the first offset that a group has not done with; None if it has no state, or not yet."""
        try:
            found = self._machine.find(key)
        except NotLoaded:
            return None
        return None if found is None else found.start

    def state_vnode(self, key: ShareKey) -> Vnode | None:
        """Return the vnode whose log takes the state of a share-partition now.

        None while there is none, or if another node stores it.
        """
        topic = self._metadata.catalogue.find(SHARE_STATE_TOPIC)
        if topic is None or self._backlog:
            return None
        home = self._metadata.topics.here(topic, self._machine.partition_of(key))
        return None if home is None else home.vnode
