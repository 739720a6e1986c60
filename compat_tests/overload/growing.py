"""Loads that leave ever more behind: what is remembered of producers and groups in very many partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compat_tests.batches import Batch
from compat_tests.overload.load import Target, create_topics, load, rounds, skip_answer
from compat_tests.overload.wide import MANY_PARTITIONS, PARTITIONS
from compat_tests.wire import RawClient
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

FIRST_ID = 1_000
TRANSACTIONAL = 0x10

TRANSACTION_PARTITIONS = 10_000
"""The most partitions of a transaction, by default."""


def _make(target: Target) -> None:
    create_topics(target, ["wide"], target.dose(PARTITIONS))


def _one_by_one(target: Target, requests: Iterable[Any], version: int, of_what: str) -> str:
    """Send requests until the time is over, at least ten, each after the answer to the one before."""
    client = target.client()
    sent = 0
    for number, request in zip(rounds_at_least(target, 10), requests, strict=False):
        client.send(request, version)
        skip_answer(client)
        sent = number + 1
    return f"{sent} {of_what}, {target.dose(PARTITIONS)} partitions each"


def rounds_at_least(target: Target, count: int) -> Iterable[int]:
    """Yield numbers until the time is over, at least so many."""
    last = -1
    for last in rounds(target):
        yield last
    yield from range(last + 1, count)


@load("producers-wide", prepare=_make, settings=MANY_PARTITIONS)
def producers_wide(target: Target) -> str:
    """Ever more idempotent producers write a batch each into 190,000 partitions."""

    def written_by(producer_id: int) -> ProduceRequest:
        batch = Batch(producer_id=producer_id, producer_epoch=0, base_sequence=0).encode()
        parts = [
            PartitionProduceData(index=number, records=batch) for number in range(target.dose(PARTITIONS))
        ]
        topic = TopicProduceData(name="wide", partition_data=parts)
        return ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[topic])

    return _one_by_one(target, map(written_by, range(FIRST_ID, 2 * FIRST_ID)), 9, "producers")


@load("offsets-wide", prepare=_make, settings=MANY_PARTITIONS)
def offsets_wide(target: Target) -> str:
    """Offsets in 190,000 partitions are committed in the name of ever more groups."""
    parts = [
        OffsetCommitRequestPartition(partition_index=number, committed_offset=1, committed_metadata="")
        for number in range(target.dose(PARTITIONS))
    ]

    def of_group(number: int) -> OffsetCommitRequest:
        topic = OffsetCommitRequestTopic(name="wide", partitions=parts)
        return OffsetCommitRequest(group_id=f"wide-{number}", member_id="", topics=[topic])

    return _one_by_one(target, map(of_group, range(FIRST_ID)), 8, "groups")


@load("aborted-wide", prepare=_make, settings=MANY_PARTITIONS)
def aborted_wide(target: Target) -> str:
    """Transaction after transaction is aborted, each with a batch in 10,000 of 190,000 partitions."""
    client, name, rounds_done = target.client(), "wide", 0
    made = client.call(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=600_000), 3)
    count, most = target.dose(PARTITIONS), target.dose(TRANSACTION_PARTITIONS)
    for sequence in rounds_at_least(target, 3):
        rounds_done = sequence + 1
        for first in range(0, count, most):
            _abort(client, made, range(first, min(first + most, count)), sequence)
    return f"{rounds_done} transactions in each of {count} partitions, {most} at a time"


@load("enlisted-wide", prepare=_make, settings=MANY_PARTITIONS)
def enlisted_wide(target: Target) -> str:
    """Batches for 190,000 partitions that no transaction has, and transactions that would have them all."""
    client, name, sent = target.client(), "wide", 0
    made = client.call(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=600_000), 3)
    indexes = range(target.dose(PARTITIONS))
    for _ in rounds_at_least(target, 3):
        for request, version in (
            (_adding(made, indexes), 3),
            (_writing(made, indexes, 0), 9),
            (_writing(made, indexes, 0), 12),
        ):
            client.send(request, version)
            skip_answer(client)
            sent += 1
    return f"{sent} requests, {len(indexes)} partitions each"


def _abort(client: RawClient, made: InitProducerIdResponse, indexes: range, sequence: int) -> None:
    end = EndTxnRequest(
        transactional_id="wide",
        producer_id=made.producer_id,
        producer_epoch=made.producer_epoch,
        committed=False,
    )
    for request, version in ((_adding(made, indexes), 3), (_writing(made, indexes, sequence), 9), (end, 3)):
        client.send(request, version)
        skip_answer(client)


def _adding(made: InitProducerIdResponse, indexes: range) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="wide",
        v3_and_below_producer_id=made.producer_id,
        v3_and_below_producer_epoch=made.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="wide", partitions=list(indexes))],
    )


def _writing(made: InitProducerIdResponse, indexes: range, sequence: int) -> ProduceRequest:
    batch = Batch(
        producer_id=made.producer_id,
        producer_epoch=made.producer_epoch,
        base_sequence=sequence,
        attributes=TRANSACTIONAL,
    ).encode()
    parts = [PartitionProduceData(index=number, records=batch) for number in indexes]
    topic = TopicProduceData(name="wide", partition_data=parts)
    return ProduceRequest(transactional_id="wide", acks=-1, timeout_ms=60_000, topic_data=[topic])
