"""Producer ids for idempotent producers: unique for ever, given out from blocks recorded in the catalogue.

A node has blocks of its own.  The controller records them, for itself and, when they ask, for other nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_records import ProducerIdBlock
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.metadata_log import MetadataLog
    from broker.catalogue.nodes import Nodes
    from broker.catalogue.topics import Catalogue
    from protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse

BLOCK_SIZE: Final = 1000
"""Ids reserved by one catalogue record, as Kafka's controller does; a crash loses the rest of a block."""


Done = Callable[[int | ErrorCode], None]

Reserved = Callable[[range | ErrorCode], None]


class ProducerIds:
    """The source of producer ids; the first of a new data directory is 0, as in Kafka.

    No id is given out before its block is durable: after a crash it would be given out again, and two
    producers would pass for one.
    """

    def __init__(self, catalogue: Catalogue, log: MetadataLog, nodes: Nodes) -> None:
        self._catalogue = catalogue
        self._log = log
        self._nodes = nodes
        # What is left of this node's block.
        self._left = range(0)
        # The callers that wait for the next block.
        self._waiting: deque[Done] = deque()
        # The first id after all blocks that are, or are being, recorded; and the number of the latter.
        self._next = catalogue.next_producer_id
        self._in_flight = 0

    def take(self, done: Done, now_ms: int) -> None:
        """Call `done` with an id that no other producer has or will have, or with the error.

        Raises: RequestError, when the new block cannot be recorded.
        """
        if self._left:
            done(self._take_one())
            return
        if not self._waiting:
            self._begin_block(now_ms)
        self._waiting.append(done)

    def _take_one(self) -> int:
        identity, self._left = self._left[0], self._left[1:]
        return identity

    def _begin_block(self, now_ms: int) -> None:
        """Get a block, here or from the controller.  Raises: RequestError."""
        if self._nodes.is_controller:
            self.reserve(lambda block: self._has_block(block, now_ms), now_ms)
            return
        from protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest

        def answered(response: AllocateProducerIdsResponse | None) -> None:
            # Clients try again after this error, which Kafka's brokers give for the same reason.
            block: range | ErrorCode = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            if response is not None and not response.error_code:
                first = response.producer_id_start
                block = range(first, first + response.producer_id_len)
            self._has_block(block, now_ms)

        request = AllocateProducerIdsRequest(broker_id=self._nodes.own_id)
        self._nodes.peers.call(self._nodes.controller_id, request, 0, answered)

    def reserve(self, reserved: Reserved, now_ms: int) -> None:
        """On the controller, call `reserved` with a block that is recorded, or with the error.

        Raises: RequestError, when it cannot be recorded.
        """
        recorded_to = self._catalogue.next_producer_id
        # Blocks that were lost are free again; ids that a log has shown are not, whatever is on its way.
        self._next = max(self._next, recorded_to) if self._in_flight else recorded_to
        block = range(self._next, self._next + BLOCK_SIZE)
        self._log.append(ProducerIdBlock(next_id=block.stop), now_ms)
        self._next = block.stop
        self._in_flight += 1

        def recorded(error: ErrorCode | None) -> None:
            self._in_flight -= 1
            reserved(block if error is None else error)

        self._log.when_durable(recorded, now_ms)

    def _has_block(self, block: range | ErrorCode, now_ms: int) -> None:
        waiting, self._waiting = self._waiting, deque()
        error = block if isinstance(block, ErrorCode) else None
        if not isinstance(block, ErrorCode):
            self._left = block
        while waiting and self._left:
            waiting.popleft()(self._take_one())
        if waiting and error is None:
            try:
                # A caller that was given an id may have asked for more, and begun the next block.
                if not self._waiting:
                    self._begin_block(now_ms)
            except RequestError as refused:
                error = refused.code
            else:
                self._waiting.extendleft(reversed(waiting))
                return
        for done in waiting:
            assert error is not None
            done(error)
