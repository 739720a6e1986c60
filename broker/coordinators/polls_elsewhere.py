"""The last polls of members that fetch from other nodes: those are asked before a member is removed.

Only members that have not polled here for too long are asked about: those that commit, or fetch from the
coordinator's own partitions, cost nothing.  A node that does not answer may have been fetched from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from broker.coordinators.member_polls import Member
from broker.loop.last_fetch import Place, kept_id
from broker.loop.latch import Latch
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Pace, Until
from protocol.messages.kawal_polls import (
    NEVER,
    AskedMember,
    KawalPollsRequest,
    KawalPollsResponse,
    OwnedPartitions,
)

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.loop.loop import Loop
    from groups.show import ConsumerRow

WAIT_MS: Final = 5_000
"""The time that another node has to answer; members are looked at again soon."""

PARTITIONS_MAX: Final = 5_000
"""The partitions of members that are asked about at once, but for those of one member: 2 ms there."""

Polled = dict[Member, int]
"""The time of day of the last poll of members at other nodes; 0: none."""


class PollsElsewhere:
    """The questions of one look at all groups."""

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._metadata = metadata
        self._loop = loop
        self._silent: set[int] = set()
        """Nodes that have not answered a question before."""

    def polled_ms(
        self, rows: Sequence[ConsumerRow], owned: Mapping[Member, set[Place]]
    ) -> Generator[Until | None, None, Polled]:
        """Return the last poll of each of these members at other nodes.

        Members are left out of which a node that leads some of their partitions has not told.
        """
        found: Polled = {}
        some: list[ConsumerRow] = []
        count = 0
        for row in rows:
            some.append(row)
            count += len(owned[row.group_id, row.consumer_id])
            if count >= PARTITIONS_MAX:
                found |= yield from self._some(some, owned)
                some, count = [], 0
        return found | (yield from self._some(some, owned))

    def _some(
        self, rows: Sequence[ConsumerRow], owned: Mapping[Member, set[Place]]
    ) -> Generator[Until | None, None, Polled]:
        asked = yield from self._asked(rows, owned)
        answers: list[tuple[int, list[Member], Latch[KawalPollsResponse | None]]] = []
        for node_id, members in asked.items():
            answer: Latch[KawalPollsResponse | None] = Latch()
            if node_id not in self._silent:
                request = KawalPollsRequest(members=list(members.values()))
                self._metadata.nodes.peers.call(node_id, request, 0, answer.set)
            answers.append((node_id, list(members), answer))
        found = {(row.group_id, row.consumer_id): 0 for row in rows}
        until_ms = self._loop.clock.turn_ms + WAIT_MS
        for node_id, members_there, answer in answers:
            told = [] if node_id in self._silent else (yield from answer.wait(self._loop.timers, until_ms))
            if told and told[0] is not None and len(told[0].ages_ms) == len(members_there):
                self._take(told[0], members_there, found)
                continue
            self._silent.add(node_id)
            for member in members_there:
                found.pop(member, None)
        return found

    def _take(self, answer: KawalPollsResponse, members: Sequence[Member], found: Polled) -> None:
        wall_ms = self._loop.clock.wall_ms(self._loop.clock.turn_ms)
        for member, age_ms in zip(members, answer.ages_ms, strict=True):
            if member in found:
                # Before its start the node may have been fetched from.
                since_ms = answer.known_for_ms if age_ms == NEVER else min(age_ms, answer.known_for_ms)
                found[member] = max(found[member], wall_ms - since_ms)

    def _asked(
        self, rows: Sequence[ConsumerRow], owned: Mapping[Member, set[Place]]
    ) -> Generator[None, None, dict[int, dict[Member, AskedMember]]]:
        """Return the nodes that lead partitions of these members, with what they are asked."""
        asked: dict[int, dict[Member, AskedMember]] = defaultdict(dict)
        metadata, pace = self._metadata, Pace(PLAIN_ITEMS_PER_STEP)
        for row in rows:
            member = row.group_id, row.consumer_id
            by_node: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
            for name, index in sorted(owned.get(member, ())):
                if pace.due():
                    yield None
                topic = metadata.catalogue.find(name)
                if topic is not None and index < topic.partition_count:
                    by_node[metadata.topics.leader(topic, index)[0]][name].append(index)
            by_node.pop(metadata.nodes.own_id, None)
            for node_id, topics in by_node.items():
                asked[node_id][member] = AskedMember(
                    host=row.host.removeprefix("/"),
                    client_id=kept_id(row.client_id) or "",
                    topics=[OwnedPartitions(topic=name, partitions=held) for name, held in topics.items()],
                )
        return asked
