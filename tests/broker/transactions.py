"""Transactions as they are stored in the log, for tests of their readers."""

from __future__ import annotations

from protocol.record_reader import Record
from protocol.record_writer import encode_batch, transaction_marker_batch
from tests.broker.gateway import START_MS, Gateway
from wal.format import EntryKind
from wal.stream_producers import ProducerStamp


def transactional(
    gateway: Gateway, value: bytes, producer: int, timestamp_ms: int = START_MS, *, topic: str = "t"
) -> None:
    """Write a record of an open transaction."""
    partition = gateway.partition(topic)
    data = encode_batch(
        [Record(0, timestamp_ms, b"k", value)],
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    stamp = ProducerStamp(producer, 0, 0, 1, True)
    partition.vnode.log.append(partition.stream_id, data, producer=stamp)
    gateway.settle()


def end(gateway: Gateway, producer: int, *, commit: bool, topic: str = "t") -> None:
    """End a producer's transaction."""
    partition = gateway.partition(topic)
    marker = transaction_marker_batch(
        commit=commit,
        offset=0,
        timestamp_ms=START_MS,
        producer_id=producer,
        producer_epoch=0,
        coordinator_epoch=0,
    )
    partition.vnode.log.append(partition.stream_id, marker, kind=EntryKind.CONTROL)
    gateway.settle()
