"""Records written and read by statements: whole batches, in requests of their own.

A key lies in the partition in which Kafka's own clients put it, so that a table's rows stay in order whatever
writes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from console.client import refusal
from console.errors import CommandError
from console.sql.session import Session
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.partitioner import partition_of
from protocol.record_reader import Record, iter_records, read_transaction_marker
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader, iter_batches, read_batch_header

BATCH_RECORDS: Final = 1_000
BATCH_BYTES: Final = 256 << 10
"""The values in one batch: far below `max.message.bytes`, whose default is 1 MiB."""

REPEATS_MAX: Final = 100_000
"""Answers of a view without progress, one after the other; each is a tenth of a second of work."""

FETCH_BYTES: Final = 8 << 20
PRODUCE_MS: Final = 30_000
OUT_OF_RANGE: Final = 1
EARLIEST: Final = -2
"""The timestamp that asks ListOffsets for the log start."""


def produce(session: Session, topic: str, partitions: int, records: Sequence[Record]) -> int:
    """Write records with keys; return their number.  Raises: CommandError saying how many are stored."""
    by_partition: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        assert record.key is not None
        by_partition[partition_of(record.key, partitions)].append(record)
    stored = 0
    for index, mine in by_partition.items():
        for batch in _batches(mine):
            _send(session, topic, index, batch, stored)
            stored += len(batch)
    return stored


def _batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Cut records into batches of bounded size; offsets count from 0 in each."""
    batch: list[Record] = []
    size = 0
    for record in records:
        size += len(record.value or b"")
        if batch and (size > BATCH_BYTES or len(batch) == BATCH_RECORDS):
            yield batch
            batch, size = [], len(record.value or b"")
        batch.append(record._replace(offset=len(batch)))
    yield batch


def _send(session: Session, topic: str, index: int, batch: list[Record], stored: int) -> None:
    data = PartitionProduceData(index=index, records=bytes(encode_batch(batch)))
    target = TopicProduceData(name=topic, partition_data=[data])
    answer = session.ask(ProduceRequest(acks=-1, timeout_ms=PRODUCE_MS, topic_data=[target]), 9)
    outcome = answer.responses[0].partition_responses[0]
    if outcome.error_code:
        raise CommandError(
            f"{topic!r}: {refusal(outcome.error_code, outcome.error_message)} ({stored} rows before it were"
            " stored)"
        )


def read_all(session: Session, topic: str, partition: int = 0) -> Iterator[Record]:
    """Yield the records of one partition, from the first to the present end.  Raises: CommandError."""
    for batch in read_batches(session, topic, partition):
        yield from iter_records(batch)


def read_batches(session: Session, topic: str, partition: int, start: int = 0) -> Iterator[memoryview]:
    """Yield the committed batches of one partition, from an offset on, the first, to the present end.

    Raises: CommandError.
    """
    return _batches_of(session, topic, partition, start, repeats=0)


def read_view_batches(session: Session, topic: str, partition: int, start: int = 0) -> Iterator[memoryview]:
    """Yield the batches of a partition of a view; it may answer with nothing while it learns what was before.

    Raises: CommandError, also if it does not get on.
    """
    return _batches_of(session, topic, partition, start, repeats=REPEATS_MAX)


def _batches_of(
    session: Session, topic: str, partition: int, start: int, *, repeats: int
) -> Iterator[memoryview]:
    offset, left = start, repeats
    end = None
    while end is None or offset < end:
        data = _fetch(session, topic, partition, offset)
        if data.error_code == OUT_OF_RANGE and (start := _log_start(session, topic, partition)) > offset:
            offset = start
            continue
        if data.error_code:
            raise CommandError(f"{topic}-{partition}: {refusal(data.error_code, None)}")
        end = data.high_watermark if end is None else end
        batches = list(iter_batches(records_bytes(data)))
        if not batches and left:
            left -= 1
            continue
        if not batches and repeats and offset < end:
            raise CommandError(
                f"{topic}-{partition} shows nothing from offset {offset} on, and ends at {end}; try again"
            )
        if not batches:
            return
        left = repeats
        aborted, first = _Aborted(data), offset
        for batch in batches:
            header = read_batch_header(batch)
            offset = header.last_offset + 1
            if aborted.hides(header, batch) or not header.record_count:
                continue
            yield from [batch] if header.base_offset >= first else _rest_of(batch, header, first)


def _rest_of(batch: memoryview, header: BatchHeader, first: int) -> list[memoryview]:
    """Return the part of a batch from an offset on: the server sends it whole, with deleted records in it."""
    kept = [record for record in iter_records(batch) if record.offset >= first]
    if not kept:
        return []
    stamp = header.max_timestamp if header.is_append_time else None
    return [memoryview(encode_batch(kept, last_offset=header.last_offset, append_time_ms=stamp))]


class _Aborted:
    """The aborted transactions in an answer: their batches are stored like any others.

    Source: Kafka's CompletedFetch.
    """

    def __init__(self, data: PartitionData) -> None:
        found = data.aborted_transactions or []
        self._begin = sorted(
            ((transaction.first_offset, transaction.producer_id) for transaction in found), reverse=True
        )
        self._open: set[int] = set()

    def hides(self, header: BatchHeader, batch: memoryview) -> bool:
        """Whether a batch, one after the other, is part of an aborted transaction, or ends one."""
        while self._begin and self._begin[-1][0] <= header.last_offset:
            self._open.add(self._begin.pop()[1])
        if header.is_control:
            for record in iter_records(batch):
                marker = read_transaction_marker(record)
                if marker is not None and not marker.is_commit:
                    self._open.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._open


def _log_start(session: Session, topic: str, partition: int) -> int:
    asked = ListOffsetsPartition(partition_index=partition, timestamp=EARLIEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    return int(session.ask(request, 7).topics[0].partitions[0].offset)


def records_bytes(data: PartitionData) -> bytes:
    """Return the batches of an answer."""
    records = data.records
    assert records is None or isinstance(records, bytes | bytearray | memoryview)
    return bytes(records or b"")


def _fetch(session: Session, topic: str, partition: int, offset: int) -> PartitionData:
    asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=FETCH_BYTES,
        isolation_level=1,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )
    answer: FetchResponse = session.ask(request, 12)
    return answer.responses[0].partitions[0]
