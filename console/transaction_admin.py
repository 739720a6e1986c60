"""Transactions of a cluster, for `kawal transactions`: what coordinator and partitions know of them.

A transaction hangs in a partition when it is open there although the coordinator does not know it: nothing
will ever end it, and readers of committed data wait for ever. Partitions are asked first, then the
coordinator, then the partitions again: what begins or ends meanwhile is not taken for hanging.
Source: KIP-664; Kafka's TransactionsCommand.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from console.admin import ask, check
from console.client import refusal
from console.errors import CommandError
from protocol.error_codes import ErrorCode
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

AT_ONCE: Final = 500
"""The partitions, or transactional ids, in one request."""

ATTEMPTS: Final = 50
PAUSE_SECONDS: Final = 0.1
"""The pause between two attempts to take an id over while its transaction is being ended."""

TIMEOUT_MS: Final = 60_000

UNDECIDED: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")


class OpenTransaction(NamedTuple):
    """A transaction that is open in a partition."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp_ms: int


def listed(
    bootstrap: str, *, states: Iterable[str] = (), longer_than_ms: int = -1, pattern: str | None = None
) -> list[dict[str, Any]]:
    """Return the transactions that the filters let through.  Raises: CommandError."""
    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=[],
        duration_filter=longer_than_ms,
        transactional_id_pattern=pattern,
    )
    answer = ask(bootstrap, request, 2)
    check(answer.error_code, None, "transactions")
    if answer.unknown_state_filters:
        raise CommandError(
            f"there is no state {answer.unknown_state_filters[0]!r}: they are Empty, Ongoing, PrepareCommit,"
            " PrepareAbort, CompleteCommit and CompleteAbort"
        )
    rows = [
        {
            "transactional_id": found.transactional_id,
            "producer_id": found.producer_id,
            "state": found.transaction_state,
        }
        for found in answer.transaction_states
    ]
    return sorted(rows, key=lambda row: str(row["transactional_id"]))


def described(bootstrap: str, transactional_ids: list[str]) -> list[dict[str, Any]]:
    """Return transactions with their partitions.  Raises: CommandError."""
    rows = []
    for found in _described(bootstrap, transactional_ids):
        check(found.error_code, None, f"transaction {found.transactional_id!r}")
        rows.append(
            {
                "transactional_id": found.transactional_id,
                "producer_id": found.producer_id,
                "producer_epoch": found.producer_epoch,
                "state": found.transaction_state,
                "timeout_ms": found.transaction_timeout_ms,
                "start_ms": found.transaction_start_time_ms,
                "partitions": [
                    f"{topic.topic}-{index}" for topic in found.topics for index in topic.partitions
                ],
            }
        )
    return rows


def _described(bootstrap: str, transactional_ids: list[str]) -> Iterator[Any]:
    for part in _parts(transactional_ids):
        request = DescribeTransactionsRequest(transactional_ids=part)
        yield from ask(bootstrap, request, 0).transaction_states


def hanging(bootstrap: str, topic: str | None = None) -> list[OpenTransaction]:
    """Return the transactions that are open in partitions and unknown to the coordinator.

    Raises: CommandError.
    """
    places = _places(bootstrap, topic)
    before = open_in(bootstrap, places)
    if not before:
        return []
    names = [row["transactional_id"] for row in listed(bootstrap, states=UNDECIDED)]
    known = {
        (found.producer_id, topics.topic, index)
        for found in _described(bootstrap, names)
        for topics in found.topics
        for index in topics.partitions
    }
    suspects = [found for found in before if (found.producer_id, found.topic, found.partition) not in known]
    after = {
        (found.topic, found.partition, found.producer_id, found.start_offset)
        for found in open_in(bootstrap, [(found.topic, found.partition) for found in suspects])
    }
    return [
        found
        for found in suspects
        if (found.topic, found.partition, found.producer_id, found.start_offset) in after
    ]


def _places(bootstrap: str, topic: str | None) -> list[tuple[str, int]]:
    answer = ask(bootstrap, MetadataRequest(topics=None, allow_auto_topic_creation=False), 4)
    places = [
        (found.name, partition.partition_index)
        for found in answer.topics
        if topic in (None, found.name)
        for partition in found.partitions
    ]
    if topic is not None and not places:
        raise CommandError(f"there is no topic {topic!r}")
    return places


def open_in(bootstrap: str, places: list[tuple[str, int]]) -> list[OpenTransaction]:
    """Return the transactions that are open in partitions; those that are gone or are views have none."""
    found: list[OpenTransaction] = []
    for part in _parts(places):
        topics: dict[str, list[int]] = {}
        for name, index in part:
            topics.setdefault(name, []).append(index)
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
        )
        for answer in ask(bootstrap, request, 0).topics:
            for partition in answer.partitions:
                found += [
                    OpenTransaction(
                        answer.name,
                        partition.partition_index,
                        producer.producer_id,
                        producer.producer_epoch,
                        producer.coordinator_epoch,
                        producer.current_txn_start_offset,
                        producer.last_timestamp,
                    )
                    for producer in partition.active_producers
                    if producer.current_txn_start_offset >= 0
                ]
    return found


def abort_hanging(bootstrap: str, topic: str, partition: int, start_offset: int) -> OpenTransaction:
    """Write an abort marker for a transaction that hangs in a partition.

    Raises: CommandError, when none is open from that offset on, or when the coordinator will end it.
    """
    here = open_in(bootstrap, [(topic, partition)])
    open_here = [found for found in here if found.start_offset == start_offset]
    if not open_here:
        raise CommandError(f"no transaction is open in {topic}-{partition} from offset {start_offset} on")
    (found,) = open_here
    if (found.topic, found.partition, found.producer_id) not in {
        (hangs.topic, hangs.partition, hangs.producer_id) for hangs in hanging(bootstrap, topic)
    }:
        raise CommandError(
            f"the transaction in {topic}-{partition} from offset {start_offset} on does not hang, because the"
            " coordinator knows it; abort it by its transactional id, or wait for its timeout"
        )
    marker = WritableTxnMarker(
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=max(found.coordinator_epoch, 0),
    )
    answer = ask(bootstrap, WriteTxnMarkersRequest(markers=[marker]), 1)
    check(answer.markers[0].topics[0].partitions[0].error_code, None, f"{topic}-{partition}")
    return found


def abort(bootstrap: str, transactional_id: str) -> None:
    """Abort an id's open transaction, if it has one, and fence its producer.  Raises: CommandError."""
    described(bootstrap, [transactional_id])
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=TIMEOUT_MS)
    for _ in range(ATTEMPTS):
        code = ask(bootstrap, request, 4).error_code
        if code != ErrorCode.CONCURRENT_TRANSACTIONS:
            check(code, None, f"transaction {transactional_id!r}")
            return
        time.sleep(PAUSE_SECONDS)
    why = refusal(ErrorCode.CONCURRENT_TRANSACTIONS, None)
    raise CommandError(f"transaction {transactional_id!r}: {why}")


def _parts(items: list[Any]) -> Iterator[list[Any]]:
    remaining = iter(items)
    while part := list(islice(remaining, AT_ONCE)):
        yield part
