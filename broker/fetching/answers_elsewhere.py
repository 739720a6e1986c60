"""Negative answers in partitions that other nodes lead, which are asked as by a client: ListOffsets, Fetch.

A node that does not answer is asked again for WAIT_MS, in which a worker that has died is back.  After that
letters are written without what it has: a node that hangs must not keep those of all others.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

from broker.errors import RequestError
from broker.fetching.pieces import PIECE_BYTES, Piece
from broker.loop.latch import Latch
from broker.loop.slices import Until
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.records import iter_batches, read_batch_header

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.loop.loop import Loop

WAIT_MS: Final = 5_000
AGAIN_MS: Final = 200

FETCH_VERSION: Final = 12
LIST_VERSION: Final = 7
LATEST, EARLIEST = -1, -2

PASSING: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER})
"""Answers of a node that does not know yet what this one knows."""

Ends = dict[int, int]
"""For each node, the moment from which on it is not asked again."""


class SourceElsewhere:
    """A partition that another node leads."""

    def __init__(
        self, metadata: Metadata, loop: Loop, place: tuple[str, int], *, leader: int, ends: Ends
    ) -> None:
        """Read from a node; all sources that are read for the same letters have the same `ends`."""
        self._metadata = metadata
        self._loop = loop
        self._name, self._index = place
        self._leader = leader
        self._ends = ends

    def bounds(self) -> Generator[Until | None, None, tuple[int, int]]:
        """Return the log start and the high watermark.  Raises: RequestError."""
        start = yield from self._offset(EARLIEST)
        return start, (yield from self._offset(LATEST))

    def _offset(self, wanted: int) -> Generator[Until | None, None, int]:
        partition = ListOffsetsPartition(partition_index=self._index, timestamp=wanted)
        topic = ListOffsetsTopic(name=self._name, partitions=[partition])
        request = ListOffsetsRequest(replica_id=-1, topics=[topic])
        answer = yield from self._asked(request, LIST_VERSION, lambda answer: answer.topics[0].partitions[0])
        return int(answer.offset)

    def piece(self, offset: int, _end: int) -> Generator[Until | None, None, Piece]:
        """Read on.  Raises: RequestError."""
        partition = FetchPartition(
            partition=self._index, fetch_offset=offset, partition_max_bytes=PIECE_BYTES
        )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=PIECE_BYTES,
            topics=[FetchTopic(topic=self._name, partitions=[partition])],
        )
        answer = yield from self._asked(
            request, FETCH_VERSION, lambda answer: answer.responses[0].partitions[0]
        )
        data = memoryview(answer.records or b"")
        reached = offset
        for batch in iter_batches(data):
            header = read_batch_header(batch)
            reached = header.base_offset + header.last_offset_delta + 1
        return Piece(data, offset, reached)

    def _asked(self, request: Any, version: int, part: Any) -> Generator[Until | None, None, Any]:
        """Return the part of the answer that is about the partition.  Raises: RequestError."""
        loop = self._loop
        ends_ms = self._ends.setdefault(self._leader, loop.clock.turn_ms + WAIT_MS)
        code = ErrorCode.REQUEST_TIMED_OUT
        while loop.clock.turn_ms < ends_ms and not loop.stopping:
            answers: Latch[Any] = Latch()
            self._metadata.nodes.peers.call(self._leader, request, version, answers.set)
            found = yield from answers.wait(loop.timers, ends_ms)
            if found and found[0] is not None:
                about = part(found[0])
                code = ErrorCode(about.error_code)
                if not code:
                    return about
                if code not in PASSING:
                    break
            yield from Latch[None]().wait(loop.timers, min(ends_ms, loop.clock.turn_ms + AGAIN_MS))
        where = f"node {self._leader}, partition {self._index} of {self._name!r}"
        raise RequestError(code, f"{where}: {code.name}")
