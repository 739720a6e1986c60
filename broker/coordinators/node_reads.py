"""The questions to one other node about the groups of clients: one at a time, with all that waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol.messages.kawal_reads import (
    NO_POSITION,
    AskedClient,
    ClientReads,
    GroupPlaces,
    KawalReadsRequest,
    KawalReadsResponse,
)

if TYPE_CHECKING:
    from uuid import UUID

    from broker.catalogue.metadata import Metadata
    from broker.coordinators.read_settings import Positions
    from broker.coordinators.remembered import Key
    from broker.loop.loop import Loop

CLIENTS_AT_ONCE: Final = 100
"""The clients of a question; each takes a few microseconds, and its partitions."""

RETRY_MS: Final = 100
"""The pause before a question is repeated that was not answered."""


class Told(NamedTuple):
    """The answer of a node about a client."""

    moment: int
    """When the question was sent."""
    every: bool
    """Whether all groups of the client are told, and not only those with settings."""
    groups: dict[str, Positions]
    """By group: the partitions that the client has, each with the progress if a snapshot depends on it."""


class NodeReads:
    """One other node."""

    def __init__(
        self,
        metadata: Metadata,
        loop: Loop,
        node_id: int,
        moments: Iterator[int],
        wanted: Callable[[Key], bool],
        take: Callable[[int, Key, Told], None],
    ) -> None:
        """`moments` counts; `wanted(key)` says whether a fetch waits, and `take` takes an answer about it."""
        self._metadata, self._loop, self._node_id = metadata, loop, node_id
        self._moments, self._wanted, self._take = moments, wanted, take
        self.changed = 0
        """The moment before which all that was told is void: groups have changed."""
        self._state: tuple[int, int] | None = None
        self._queue: dict[Key, bool] = {}
        self._sent: dict[Key, bool] | None = None
        """What is being asked: clients, and whether all groups of each are wanted."""
        self._moment = 0
        self._unanswered_ms: int | None = None

    @property
    def silent_ms(self) -> int:
        """The time for which it has answered nothing, although it was asked."""
        return 0 if self._unanswered_ms is None else self._loop.clock.turn_ms - self._unanswered_ms

    def ask(self, key: Key, *, since: int, every: bool) -> None:
        """Ask for a client, unless that is being asked since a moment."""
        sent = None if self._sent is None or self._moment < since else self._sent.get(key)
        if sent is None or (every and not sent):
            self._queue[key] = every or self._queue.get(key, False)
            self._send()

    def look(self, _now_ms: int = 0) -> None:
        """Ask whether groups have changed, and for what waits."""
        if not self._loop.stopping:
            self._send()

    def _send(self) -> None:
        if self._sent is not None:
            return
        self._sent = dict(islice(self._queue.items(), CLIENTS_AT_ONCE))
        for key in self._sent:
            del self._queue[key]
        self._moment = next(self._moments)
        if self._unanswered_ms is None:
            self._unanswered_ms = self._loop.clock.turn_ms
        nodes = self._metadata.nodes
        request = KawalReadsRequest(
            node_id=nodes.own_id,
            catalogue_version=self._metadata.metadata_log.known_version,
            clients=[
                AskedClient(host=host, client_id=client_id, every=every)
                for (host, client_id), every in self._sent.items()
            ],
        )
        nodes.peers.call(self._node_id, request, 0, partial(self._answered, self._sent))

    def _answered(self, sent: dict[Key, bool], answer: KawalReadsResponse | None) -> None:
        self._sent = None
        if answer is None or answer.error_code or len(answer.clients) != len(sent):
            self._queue |= {key: every for key, every in sent.items() if key not in self._queue}
            self._queue = {key: every for key, every in self._queue.items() if self._wanted(key)}
            if self._queue:
                self._loop.timers.add(self._loop.clock.turn_ms + RETRY_MS, self.look)
            return
        self._unanswered_ms = None
        state = answer.life, answer.changes
        if state != self._state:
            self._state, self.changed = state, self._moment
        moment = self._moment
        for (key, every), client in zip(sent.items(), answer.clients, strict=True):
            self._take(self._node_id, key, Told(moment, every or bool(client.groups), _groups_of(client)))
        if self._queue:
            self._send()


def _groups_of(client: ClientReads) -> dict[str, Positions]:
    return {group.group_id: _positions_of(group) for group in client.groups}


def _positions_of(group: GroupPlaces) -> Positions:
    found: dict[UUID, dict[int, int | None]] = {}
    for topic in group.topics:
        positions = topic.positions or [NO_POSITION] * len(topic.partitions)
        known = (None if position == NO_POSITION else position for position in positions)
        found.setdefault(topic.topic_id, {}).update(zip(topic.partitions, known, strict=True))
    return found
