"""Producer ids for idempotent producers: unique for ever, given out from blocks that the catalogue records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.catalogue_records import ProducerIdBlock
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.topic_directory import TopicDirectory
    from broker.topics import Catalogue

BLOCK_SIZE: Final = 1000
"""Ids reserved by one catalogue record, as Kafka's controller does; a crash loses the rest of a block."""


class ProducerIds:
    """Gives out producer ids; the first of a new data directory is 0, as Kafka's."""

    def __init__(self, catalogue: Catalogue, topics: TopicDirectory) -> None:
        self._catalogue = catalogue
        self._topics = topics
        self._next = catalogue.next_producer_id
        # Callers that wait for the block in the making, each with the id it will get.
        self._pending: list[tuple[int, Callable[[int | ErrorCode], None]]] | None = None

    def take(self, done: Callable[[int | ErrorCode], None], now_ms: int) -> None:
        """Call `done` with an id that no other producer has or will have, or with the error.

        Raises:
            RequestError: the new block cannot be recorded.
        """
        if self._next >= self._catalogue.next_producer_id:
            self._reserve(now_ms)
        identity = self._next
        self._next += 1
        if self._pending is None:
            done(identity)
        else:
            self._pending.append((identity, done))

    def _reserve(self, now_ms: int) -> None:
        self._topics.append([ProducerIdBlock(next_id=self._next + BLOCK_SIZE)])
        pending: list[tuple[int, Callable[[int | ErrorCode], None]]] = []
        self._pending = pending

        def recorded(error: ErrorCode | None) -> None:
            if self._pending is pending:
                self._pending = None
            for identity, done in pending:
                done(error if error is not None else identity)

        self._topics.when_durable(recorded, now_ms)
