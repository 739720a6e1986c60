"""The groups that this node coordinates, for nodes from which their members fetch."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from broker.coordinators.member_reads import Place, ReadSettings
from broker.coordinators.own_progress import may_lead
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Pace
from groups.record_keys import OffsetKey

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.coordinators.groups import Groups
    from broker.loop.loop import Loop
    from groups.fetchers import ClientKey

Positions = dict[Place, int | None]
"""The partitions that a client has for a group, with the group's progress if it begins with a snapshot."""

ClientGroups = dict[str, Positions]
"""The groups of a client."""


class Reads(NamedTuple):
    """The groups of the clients that were asked about, in their order, and the number of changes before."""

    changes: int
    clients: list[ClientGroups]


class OwnReads:
    """The answers to other nodes."""

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._metadata, self._loop = metadata, loop
        self._rounds: object = None
        self._changes = 0

    def of(
        self,
        groups: Groups,
        settings: Mapping[str, ReadSettings],
        clients: Sequence[tuple[ClientKey, bool]],
        node_id: int,
    ) -> Generator[None, None, Reads | None]:
        """Return the groups of clients, with the partitions that a node may lead.

        All groups of a client are told if it is a member of one with settings here, or if that is asked for,
        the second of a pair.  None: the members are not known yet.
        """
        with groups.step(self._loop.clock.turn_ms) as coordinator:
            if not all(map(coordinator.is_known, settings)):
                return None
            rounds = coordinator.rounds(settings.keys())
        if rounds != self._rounds:
            self._rounds = rounds
            self._changes += 1
        changes = self._changes
        keys = {key for key, _ in clients}
        found = yield from coordinator.memberships(keys, settings.keys())
        every = {key for key, wanted in clients if wanted or key in found}
        if every:
            found = yield from coordinator.memberships(every)
        told: list[ClientGroups] = []
        pace = Pace(PLAIN_ITEMS_PER_STEP)
        for key, _ in clients:
            own: ClientGroups = {}
            for group_id, places in found.get(key, {}).items():
                has_positions = settings.get(group_id, ReadSettings()).begins_with_snapshot
                own[group_id] = {}
                for topic_id, index in places:
                    if pace.due():
                        yield
                    topic = self._metadata.catalogue.find_id(topic_id)
                    if topic is not None and may_lead(self._metadata, topic, index, node_id):
                        at = OffsetKey(group_id, topic.name, index)
                        own[group_id][topic_id, index] = coordinator.position(at) if has_positions else None
            told.append(own)
            if pace.due():
                yield
        return Reads(changes, told)
