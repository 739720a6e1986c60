"""The groups that this node coordinates, for nodes from which their members fetch."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from broker.coordinators.member_reads import MEMBER_ITEMS, held_steps
from broker.coordinators.own_progress import may_lead
from broker.coordinators.read_settings import PLAIN, ReadSettings
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Pace, Until

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.coordinators.groups import Groups
    from broker.loop.loop import Loop
    from groups.clients import ClientKey, MemberId

Positions = dict[tuple[UUID, int], int | None]
"""The partitions that a client has for a group, with the group's progress if it begins with a snapshot."""

ClientGroups = dict[str, Positions]
"""The groups of a client."""

Steps = Generator[Until | None, None, None]


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
    ) -> Generator[Until | None, None, Reads | None]:
        """Return the groups of clients, with the partitions that a node may lead.

        All groups of a client are told if it is a member of one with settings here, or if that is asked for,
        the second of a pair.  None: the members are not known yet.
        """
        if not groups.are_known(settings):
            return None
        rounds = yield from groups.rounds(settings)
        if rounds != self._rounds:
            self._rounds = rounds
            self._changes += 1
        changes, told, pace = self._changes, list[ClientGroups](), Pace(PLAIN_ITEMS_PER_STEP)
        for key, wanted in clients:
            own: ClientGroups = {}
            if wanted or not settings.keys().isdisjoint(groups.clients.groups_of(key).keys()):
                for member in groups.clients.members_of(key):
                    places = own.setdefault(member[0], {})
                    begins = settings.get(member[0], PLAIN).begins_with_snapshot
                    yield from self._tell(groups, member, node_id, places, begins=begins, pace=pace)
            told.append(own)
            if pace.due():
                yield None
        return Reads(changes, told)

    def _tell(
        self, groups: Groups, member: MemberId, node_id: int, told: Positions, *, begins: bool, pace: Pace
    ) -> Steps:
        """Add what a member has and a node may lead; `begins`: with the progress of its group."""
        group_id, catalogue = member[0], self._metadata.catalogue
        for part in (yield from held_steps(groups, *member, self._loop.scheduler.offload)):
            for key, indexes in part.items():
                topic = catalogue.find_id(key) if isinstance(key, UUID) else catalogue.find(key)
                for index in indexes if topic is not None else ():
                    if pace.due():
                        yield None
                    if topic is not None and may_lead(self._metadata, topic, index, node_id):
                        position = groups.position(group_id, topic.name, index) if begins else None
                        told[topic.topic_id, index] = position
                if pace.due():
                    yield None
        if pace.due(MEMBER_ITEMS):
            yield None
