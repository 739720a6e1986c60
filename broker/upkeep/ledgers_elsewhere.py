"""The ledgers of partitions that other nodes lead, as long as they are not told.

Each node is asked for what has changed after the number that it gave last.  A node that has started since
gives all once more; of that only what differs from what was told becomes a record.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from broker.upkeep.asked_nodes import AskedNodes
from protocol.messages.kawal_ledgers import KawalLedgersRequest, KawalLedgersResponse, LedgerSpan
from wal.ledgers import Span

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topic import Topic
    from broker.loop.loop import Loop


class State(NamedTuple):
    """The ledgers of a partition at one time."""

    changes: int
    """A number that no other state has."""
    spans: list[Span]


class LedgersElsewhere:
    """The answers of other nodes; none on a node that is alone."""

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._catalogue = metadata.catalogue
        self._nodes = AskedNodes(metadata, loop, self._request_for, self._take)
        self._asked_to: dict[int, tuple[int, int]] = {}
        """By node: its life, and the number after which it is asked for changes."""
        self._states: dict[tuple[UUID, int], State] = {}
        self._numbers = count(1)

    def ask(self) -> None:
        """Ask the other nodes, and forget what they have told of topics that were deleted."""
        if self._states:
            known = self._catalogue.by_id
            self._states = {place: state for place, state in self._states.items() if place[0] in known}
        self._nodes.ask()

    def _request_for(self, node_id: int) -> KawalLedgersRequest:
        life, after = self._asked_to.get(node_id, (-1, 0))
        return KawalLedgersRequest(life=life, after=after)

    def _take(self, node_id: int, answer: KawalLedgersResponse) -> None:
        self._asked_to[node_id] = answer.life, answer.next_after
        for partition in answer.partitions:
            if partition.topic_id in self._catalogue.by_id:
                place = partition.topic_id, partition.partition_index
                self._states[place] = State(next(self._numbers), list(map(_span, partition.ledgers)))

    def state(self, topic: Topic, index: int) -> State | None:
        """Return the ledgers of a partition; None: there is nothing new."""
        return self._states.get((topic.topic_id, index))

    def told(self, topic: Topic, index: int, changes: int) -> None:
        """Forget a state: it is told."""
        state = self.state(topic, index)
        if state is not None and state.changes == changes:
            del self._states[topic.topic_id, index]


def _span(told: LedgerSpan) -> Span:
    return Span(
        told.ledger_id,
        told.first_offset,
        None if told.end_offset < 0 else told.end_offset,
        None if told.entries < 0 else told.entries,
        None if told.size_bytes < 0 else told.size_bytes,
        told.begun_ms,
    )
