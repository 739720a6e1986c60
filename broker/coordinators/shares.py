"""The share coordinator in the broker, and its topic."""

from __future__ import annotations

from collections.abc import Callable

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic_admin import NewTopic, share_state_topic
from broker.catalogue.topics import SHARE_STATE_TOPIC
from broker.coordinators.group_settings import number
from broker.coordinators.runtime import CoordinatorRuntime
from broker.coordinators.share_settings import limits_of
from broker.loop.loop import Loop
from broker.storage.vnode import Vnode
from groups.errors import NotLoaded
from groups.share.config import ShareConfig
from groups.share.coordinator import ShareCoordinator
from groups.share.share_partition import SharePartition
from groups.share.state_records import ShareKey


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
        )

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
        )


class Shares(CoordinatorRuntime[ShareCoordinator]):
    """The running share coordinator."""

    def __init__(self, metadata: Metadata, loop: Loop, now_ms: int) -> None:
        self.on_freed: Callable[[list[ShareKey]], None] | None = None
        self._on_archiving: Callable[[list[ShareKey]], None] | None = None
        super().__init__(ShareKind(metadata, loop), metadata, loop, now_ms)

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

    def position(self, key: ShareKey) -> int | None:
        """Return the first offset that a group has not done with; None if it has no state, or not yet."""
        try:
            found = self._machine.find(key)
        except NotLoaded:
            return None
        return None if found is None else found.start

    def state_vnode(self, key: ShareKey) -> Vnode | None:
        """Return the vnode whose log takes the state of a share-partition now; None while there is none."""
        topic = self._metadata.catalogue.find(SHARE_STATE_TOPIC)
        if topic is None or self._backlog:
            return None
        return self._metadata.topics.partition(topic, self._machine.partition_of(key)).vnode
