"""The states of a share group in the partitions of all nodes, as its coordinator has them made and deleted.

The leader of a partition has the state of each group in it. The coordinator asks leaders by KawalShareStates,
each for all of its partitions in as few requests as hold them; a deletion goes to every node.

A request is void from a moment on that it names, and until then the coordinator waits for the answer: so what
is carried out late, by a node that had hung, cannot undo what the coordinator has done since. It is a moment
of the clock that all processes of one machine have. What has no answer may have been carried out.
Source: Kafka 4.3's coordinators ask each other likewise (Initialize- and DeleteShareGroupState), about states
that they, not the leaders, have.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic_admin import share_state_topic
from broker.catalogue.topics import SHARE_STATE_TOPIC
from broker.coordinators.local_states import LocalStates
from broker.errors import RequestError
from broker.loop.latch import Latch
from broker.loop.loop import Loop
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Until, WaitingSteps, chunks
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.kawal_share_states import (
    KawalShareStatesRequest,
    KawalShareStatesResponse,
    PlaceItem,
    PlacesOfTopic,
    StatesAction,
)

logger = logging.getLogger("kawal.coordinators")

Place = tuple[UUID, int]
"""The id of a topic, and the index of a partition."""

WAIT_MS: Final = 3_000
"""The time that leaders have: a group's heartbeats wait for it, if one of them hangs."""

AGAIN_MS: Final = 100
"""The pause before a node is asked again that does not know the topic yet, or loads its states."""

PLACES_PER_REQUEST: Final = 1_000
"""The partitions of one request, 30 KB, which take a leader 0.1 s."""

VERSION: Final = 0
CREATE_VERSION: Final = 7

Codes = dict[Place, ErrorCode]
Steps = Generator[Until | None, None, Codes]


class ClusterStates:
    """Changes these states."""

    def __init__(self, metadata: Metadata, loop: Loop, local: LocalStates) -> None:
        """`local` changes those in partitions that this node leads."""
        self._metadata = metadata
        self._loop = loop
        self._local = local

    def leader(self, place: Place) -> int | None:
        """Return the node that leads a partition; None if there is none."""
        topic = self._metadata.catalogue.find_id(place[0])
        if topic is None or not 0 <= place[1] < topic.partition_count:
            return None
        return self._metadata.topics.leader(topic, place[1])[0]

    def make(self, group_id: str, places: Collection[Place]) -> Generator[Until | None, None, list[Place]]:
        """Have states made; return the partitions in which there is one, durably, some of them perhaps."""
        until_ms = self._loop.clock.turn_ms + WAIT_MS
        left = dict.fromkeys(places, -1)
        made: list[Place] = []
        yield from self._have_topic(until_ms)
        while left:
            codes = yield from self._set_all(group_id, StatesAction.MAKE, left, until_ms)
            made += [place for place, code in codes.items() if code == ErrorCode.NONE]
            # Those without a code have no leader: the topic was deleted.
            left = {place: -1 for place, code in codes.items() if code != ErrorCode.NONE}
            again_ms = self._loop.clock.turn_ms + AGAIN_MS
            if again_ms >= until_ms or self._loop.stopping:
                break
            if left:
                yield from Latch[None]().wait(self._loop.timers, again_ms)
        return made

    def set(self, group_id: str, starts: Mapping[Place, int]) -> Steps:
        """Have a group go on at these offsets; return the outcomes, but for partitions that do not exist."""
        until_ms = self._loop.clock.turn_ms + WAIT_MS
        return (yield from self._set_all(group_id, StatesAction.SET, starts, until_ms))

    def delete(
        self, group_id: str, topic_ids: Collection[UUID] | None
    ) -> Generator[Until | None, None, ErrorCode]:
        """Have all nodes delete a group's states in some topics, or (None) in all; return the first error."""
        topics = None
        if topic_ids is not None:
            topics = [PlacesOfTopic(topic_id=topic_id, partitions=[]) for topic_id in topic_ids]
        until_ms = self._loop.clock.turn_ms + WAIT_MS
        request = KawalShareStatesRequest(
            group_id=group_id, action=StatesAction.DELETE, until_ms=until_ms, topics=topics
        )
        asked = [self._begin(node_id, request) for node_id in self._metadata.nodes.ids]
        outcome = ErrorCode.NONE
        for answer in asked:
            found = yield from answer.wait(self._loop.timers, until_ms)
            code = _code_of(found)
            if outcome == ErrorCode.NONE:
                outcome = code
        return outcome

    def _set_all(
        self, group_id: str, action: StatesAction, starts: Mapping[Place, int], until_ms: int
    ) -> Steps:
        """Have the leaders change the states in these partitions; return the outcomes."""
        by_node: dict[int, list[Place]] = {}
        for some in chunks(list(starts), per_step=PLAIN_ITEMS_PER_STEP):
            for place in some:
                leader = self.leader(place)
                if leader is not None:
                    by_node.setdefault(leader, []).append(place)
            yield None
        asked: list[tuple[Sequence[Place], Latch[Any]]] = []
        for node_id, places in by_node.items():
            for part in chunks(places, per_step=PLACES_PER_REQUEST):
                request = KawalShareStatesRequest(
                    group_id=group_id, action=action, until_ms=until_ms, topics=_topics(part, starts)
                )
                asked.append((part, self._begin(node_id, request)))
                yield None
        codes: Codes = {}
        for part, answer in asked:
            found = yield from answer.wait(self._loop.timers, until_ms)
            codes |= dict.fromkeys(part, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            codes |= _codes_in(found)
        return codes

    def _begin(self, node_id: int, request: KawalShareStatesRequest) -> Latch[Any]:
        """Ask a node, which may be this one."""
        answer: Latch[Any] = Latch()
        if node_id == self._metadata.nodes.own_id:
            self._loop.scheduler.add_work(self._here(request, answer))
        else:
            self._metadata.nodes.peers.call(node_id, request, VERSION, answer.set)
        return answer

    def _here(self, request: KawalShareStatesRequest, answer: Latch[Any]) -> WaitingSteps:
        answer.set((yield from self._local.change(request)))

    def _have_topic(self, until_ms: int) -> Generator[Until | None, None, None]:
        """Have the topic of the states made, if there is none; a node that is alone makes it by itself."""
        while SHARE_STATE_TOPIC not in self._metadata.catalogue.by_name:
            self._ask_for_topic()
            again_ms = self._loop.clock.turn_ms + AGAIN_MS
            if again_ms >= until_ms or self._loop.stopping:
                return
            yield from Latch[None]().wait(self._loop.timers, again_ms)

    def _ask_for_topic(self) -> None:
        metadata, now_ms = self._metadata, self._loop.clock.turn_ms
        new = share_state_topic(metadata.live_config.layers)
        if metadata.nodes.is_controller:
            try:
                record = metadata.topics.check_new(new, self._loop.clock.wall_ms(now_ms))
                metadata.topics.create(record, now_ms)
            except RequestError as error:
                logger.error("%s cannot be created: %s", new.name, error)
            return
        topic = CreatableTopic(
            name=new.name,
            num_partitions=new.partition_count,
            replication_factor=1,
            assignments=[],
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in new.configs.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=WAIT_MS)
        metadata.nodes.peers.call(metadata.nodes.controller_id, request, CREATE_VERSION, _ignored)


def _ignored(_: Any) -> None:
    """Pass over an answer: the topic is there, or it is asked for again."""


def _topics(places: Iterable[Place], starts: Mapping[Place, int]) -> list[PlacesOfTopic]:
    topics: dict[UUID, PlacesOfTopic] = {}
    for place in places:
        topic = topics.setdefault(place[0], PlacesOfTopic(topic_id=place[0], partitions=[]))
        topic.partitions.append(PlaceItem(partition_index=place[1], start_offset=starts[place]))
    return list(topics.values())


def _codes_in(found: list[KawalShareStatesResponse | None]) -> Codes:
    """Return the outcomes in an answer, if it came."""
    return {
        (topic.topic_id, item.partition_index): ErrorCode(item.error_code)
        for answer in found
        if answer is not None
        for topic in answer.topics
        for item in topic.partitions
    }


def _code_of(found: list[KawalShareStatesResponse | None]) -> ErrorCode:
    if not found or found[0] is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode(found[0].error_code)
