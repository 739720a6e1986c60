"""Negative answers: why a worker could not process a record, told in a topic of the group's own.

The protocol has no field for it.  A worker that rejects or releases a record writes, before that, a record
with these headers, all of them text, into the topic that the group's kawal.share.answers.topic names:

    kawal-topic, kawal-partition, kawal-offset    the record that it could not process
    kawal-code                                    a short name or number of the cause
    kawal-reason                                  a sentence
    kawal-group                                   the group, if several have the same topic

The last answer about a record is copied into its dead letter.  Only the newest records of the topic are
looked at, and only when letters are written: an answer much older than its letter is not found.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable
from functools import partial
from typing import Final, NamedTuple, Protocol

from broker.errors import RequestError
from broker.fetching.pieces import PIECE_BYTES, Piece, read_piece
from broker.loop.loop import Loop
from broker.loop.slices import Until, in_thread
from broker.storage.partition import Partition
from broker.view_topics.view_partition import ViewRead
from protocol.errors import ProtocolError
from protocol.record_reader import Record, iter_records
from protocol.records import iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import WalError

logger = logging.getLogger("kawal.broker")

ANSWERS_MAX: Final = 2_000
"""The newest records of a partition that are looked at."""

PARTITIONS_MAX: Final = 16
"""The partitions of the topic that are looked at, the first ones."""

CODE_BYTES_MAX: Final = 64
REASON_BYTES_MAX: Final = 4_096
"""The most of a code and of a reason that are copied."""


class NegativeAnswer(NamedTuple):
    """The cause that a worker has told."""

    code: bytes
    reason: bytes


class Subject(NamedTuple):
    """The records that answers are wanted for."""

    group_id: str
    topic: str
    partition: int


class Source(Protocol):
    """A partition of the topic, wherever it is led.  Its methods raise RequestError, WalError, DiskError."""

    def bounds(self) -> Generator[Until | None, None, tuple[int, int]]:
        """Return the log start and the high watermark."""

    def piece(self, offset: int, end: int) -> Generator[Until | None, None, Piece]:
        """Return what lies from an offset on, up to another one; at least a batch, if there is one."""


class SourceHere:
    """A partition that this node leads."""

    def __init__(self, partition: Partition, loop: Loop) -> None:
        self._partition = partition
        self._loop = loop

    def bounds(self) -> Generator[Until | None, None, tuple[int, int]]:
        """Return the log start and the high watermark."""
        yield from ()
        return self._partition.log_start, self._partition.high_watermark

    def piece(self, offset: int, end: int) -> Generator[Until | None, None, Piece]:
        """Read on.  Raises: OffsetOutOfRange, WalError, DiskError."""
        read = ViewRead(offset, PIECE_BYTES, minimum_one=True, now_ms=self._loop.clock.turn_ms)
        return (yield from read_piece(self._partition, read, end, self._loop.scheduler.offload))


def answers_of(
    subject: Subject, sources: Iterable[Source], loop: Loop
) -> Generator[Until | None, None, dict[int, NegativeAnswer]]:
    """Return the last answers about records of a share-partition, by offset.

    A topic that cannot be read has none: its letters do not wait for it.
    """
    found: dict[int, tuple[int, NegativeAnswer]] = {}
    for source in sources:
        try:
            yield from _read(subject, source, loop, found)
        except (RequestError, WalError, DiskError) as error:
            logger.error("answers of %r are not in its dead letters: %s", subject.group_id, error)
    return {offset: answer for offset, (_, answer) in found.items()}


def _read(
    subject: Subject, source: Source, loop: Loop, found: dict[int, tuple[int, NegativeAnswer]]
) -> Generator[Until | None, None, None]:
    log_start, end = yield from source.bounds()
    offset = max(log_start, end - ANSWERS_MAX)
    while offset < end:
        piece = yield from source.piece(offset, end)
        if piece.end <= offset:
            return
        told = yield from in_thread(loop.scheduler.offload, partial(_answers_in, piece.data, subject))
        for at, written_ms, answer in told:
            if at not in found or found[at][0] <= written_ms:
                found[at] = (written_ms, answer)
        offset = piece.end


def _answers_in(data: memoryview, subject: Subject) -> list[tuple[int, int, NegativeAnswer]]:
    """Return the answers in a piece of a log, with the offsets that they are about and their times."""
    told: list[tuple[int, int, NegativeAnswer]] = []
    for batch in iter_batches(data):
        if read_batch_header(batch).is_control:
            continue
        try:
            records = list(iter_records(batch))
        except ProtocolError as error:
            logger.error("a batch of negative answers cannot be read: %s", error)
            continue
        for record in records:
            offset = _about(record, subject)
            if offset is not None:
                headers = {name: value or b"" for name, value in record.headers}
                code = headers.get("kawal-code", b"")[:CODE_BYTES_MAX]
                reason = headers.get("kawal-reason", b"")[:REASON_BYTES_MAX]
                told.append((offset, record.timestamp_ms, NegativeAnswer(code, reason)))
    return told


def _about(record: Record, subject: Subject) -> int | None:
    """Return the offset that an answer is about; None if it is about another share-partition."""
    headers = {name: value or b"" for name, value in record.headers}
    group_id = headers.get("kawal-group")
    if group_id is not None and group_id != subject.group_id.encode():
        return None
    if headers.get("kawal-topic") != subject.topic.encode():
        return None
    if headers.get("kawal-partition") != b"%d" % subject.partition:
        return None
    offset = headers.get("kawal-offset", b"")
    return int(offset) if offset.isdigit() and len(offset) <= 18 else None
