"""Loads that leave ever more behind: what is remembered of producers and groups in very many partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compat_tests.batches import Batch
from compat_tests.overload.load import Target, create_topics, load, rounds, skip_answer
from compat_tests.overload.wide import MANY_PARTITIONS, PARTITIONS
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

FIRST_ID = 1_000


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
