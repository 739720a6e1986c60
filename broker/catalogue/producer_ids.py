"""Producer ids for idempotent producers: unique for ever, given out from blocks recorded in the catalogue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_records import ProducerIdBlock
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.metadata_log import MetadataLog
    from broker.catalogue.topics import Catalogue

BLOCK_SIZE: Final = 1000
"""Ids reserved by one catalogue record, as Kafka's controller does; a crash loses the rest of a block."""


Done = Callable[[int | ErrorCode], None]


class ProducerIds:
    """The source of producer ids; the first of a new data directory is 0, as in Kafka.

    No id is given out before its block is durable: after a crash it would be given out again, and two
    producers would pass for one.
    """

    def __init__(self, catalogue: Catalogue, log: MetadataLog) -> None:
        self._catalogue = catalogue
        self._log = log
        self._next = catalogue.next_producer_id
        # The callers that wait for the block being recorded.
        self._waiting: deque[Done] = deque()

    def take(self, done: Done, now_ms: int) -> None:
        """Call `done` with an id that no other producer has or will have, or with the error.

        Raises: RequestError, when the new block cannot be recorded.
        """
        if self._next < self._catalogue.next_producer_id:
            done(self._take_one())
            return
        if not self._waiting:
            self._reserve(now_ms)
        self._waiting.append(done)

    def _take_one(self) -> int:
        identity = self._next
        self._next += 1
        return identity

    def _reserve(self, now_ms: int) -> None:
        self._log.append(ProducerIdBlock(next_id=self._next + BLOCK_SIZE), now_ms)
        self._log.when_durable(lambda error: self._recorded(error, now_ms), now_ms)

    def _recorded(self, error: ErrorCode | None, now_ms: int) -> None:
        waiting, self._waiting = self._waiting, deque()
        while waiting and error is None and self._next < self._catalogue.next_producer_id:
            waiting.popleft()(self._take_one())
        if waiting and error is None:
            try:
                self._reserve(now_ms)
            except RequestError as refused:
                error = refused.code
            else:
                self._waiting = waiting
                return
        for done in waiting:
            assert error is not None
            done(error)
