"""The progress of the groups that this node coordinates, for nodes that keep records for them.

Groups that hold records (broker/config/group_holds.py) are watched from the first question on: what has
changed of their offsets has an order (groups/offset_changes.py).  Before each answer their topics are looked
at, in slices.  A group is told after the offsets that it had when it began to be watched, so that a node that
knows of it knows those; one whose records are not loaded is not told.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.config.group_holds import hold_limits
from broker.loop.slices import ITEMS_PER_STEP, Pace
from groups.record_keys import OffsetKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Topic
    from broker.coordinators.groups import Groups
    from broker.loop.loop import Loop
    from groups.coordinator import Coordinator
    from groups.offset_changes import Change, OffsetChanges

LIFE_BITS: Final = 32
"""The bits of a life within one process; those above are the leader epoch, which each process has anew."""

NO_TOPICS: Final = frozenset[str]()

Positions = dict[tuple[str, str], list[tuple[int, int | None]]]
"""By group and topic: partitions, each with the offset, None if there is none any more."""


class Progress(NamedTuple):
    """The first changes after a number."""

    life: int
    next_after: int
    has_more: bool
    groups: dict[str, frozenset[str]]
    """Groups, with all topics that they read."""
    positions: Positions


class OwnProgress:
    """The answers to other nodes."""

    def __init__(self, metadata: Metadata, loop: Loop, groups: Groups) -> None:
        self._metadata, self._loop, self._groups = metadata, loop, groups

    def changed(self, life: int, after: int, node_id: int) -> Generator[None, None, Progress | None]:
        """Return what has changed after a number of a life, of partitions that a node leads.

        None: all began anew meanwhile.
        """
        with self._groups.step(self._loop.clock.turn_ms) as coordinator:
            changes = coordinator.offset_changes
        yield from self._watch(coordinator, changes)
        own = changes.life
        known = self._metadata.nodes.epoch_of(self._metadata.nodes.own_id) << LIFE_BITS | own
        found = changes.after(after if life == known else 0)
        groups: dict[str, frozenset[str]] = {}
        positions: Positions = {}
        pace = Pace()
        for change in found.changes:
            if pace.due():
                yield
                if changes.life != own:
                    return None
            if not isinstance(change, OffsetKey):
                groups[change] = changes.groups.get(change, NO_TOPICS)
            elif self._is_of(change, node_id):
                place = change.partition, coordinator.position(change)
                positions.setdefault((change.group_id, change.topic), []).append(place)
        return Progress(known, found.next_after, found.has_more, groups, positions)

    def _is_of(self, key: OffsetKey, node_id: int) -> bool:
        topic = self._metadata.catalogue.find(key.topic)
        return topic is None or may_lead(self._metadata, topic, key.partition, node_id)

    def _watch(self, coordinator: Coordinator, changes: OffsetChanges) -> Generator[None, None, None]:
        """Watch the groups that hold records, and note which of them read other topics than before."""
        holding = yield from self._holding(coordinator)
        if not changes.groups.keys() <= {*holding}:
            changes.begin_anew()
        life, pace = changes.life, Pace()
        for group_id in holding:
            known = changes.groups.get(group_id)
            if known is None:
                changes.groups[group_id] = NO_TOPICS
                for key in _offsets_of(coordinator, group_id):
                    changes.note(key)
                    if pace.due():
                        yield
                        if changes.life != life:
                            return
            topics = frozenset(coordinator.topics_read(group_id))
            if topics != known:
                changes.groups[group_id] = topics
                changes.note(group_id, 1 + len(topics))
            if pace.due(1 + len(topics) // ITEMS_PER_STEP):
                yield
                if changes.life != life:
                    return

    def _holding(self, coordinator: Coordinator) -> Generator[None, None, list[str]]:
        """Return the groups coordinated here that hold records, as far as they are loaded."""
        layers = self._metadata.live_config.layers
        found: list[str] = []
        pace = Pace()
        for group_id, overrides in list(self._metadata.catalogue.group_configs.items()):
            if pace.due():
                yield
            if hold_limits(overrides, layers) is None or not coordinator.is_known(group_id):
                continue
            if coordinator.coordinates(coordinator.partition_of(group_id)):
                found.append(group_id)
        return found


def may_lead(metadata: Metadata, topic: Topic, index: int, node_id: int) -> bool:
    """Whether a node may lead a partition: the source of a view may come to be another one."""
    if topic.view is not None or index >= topic.partition_count:
        return True
    return metadata.nodes.leader_of_vnode(topic.vnode_index(index)) == node_id


def _offsets_of(coordinator: Coordinator, group_id: str) -> Iterable[Change]:
    for topic in coordinator.offset_topics(group_id):
        for index in coordinator.offset_partitions(group_id, topic):
            yield OffsetKey(group_id, topic, index)
