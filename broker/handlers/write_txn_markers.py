"""WriteTxnMarkers: v1-2.

Behaviour: writes the ends of transactions into partitions, for administrators that abort one that hangs.
Each partition answers when its marker is durable; one that repeats a marker of transaction.version 2 answers
success.
Differences from Apache Kafka: this node is the only broker, so no broker sends it; a marker is written
whether the transaction coordinator knows the transaction or not, as in Kafka.
Version notes: v2 transaction version, which decides how strictly the epoch is judged (KIP-1228).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.coordinators.markers import Marker, Result
from broker.loop.call import Call
from broker.loop.slices import Until, WaitingSteps
from groups.effects import EndMarker
from protocol.error_codes import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

RAISES_EPOCH_SINCE: Final = 2
"""The first transaction.version whose markers have an epoch of their own."""

TopicPartition = tuple[str, int]


def handle(broker: Broker, call: Call[WriteTxnMarkersRequest]) -> WaitingSteps:
    """Write every marker, then answer when all are durable."""
    results: list[dict[TopicPartition, ErrorCode]] = []
    for asked in call.request.markers:
        found: list[list[Result]] = []
        waiting: list[Callable[[], None]] = []

        def done(
            result: list[Result],
            found: list[list[Result]] = found,
            waiting: list[Callable[[], None]] = waiting,
        ) -> None:
            found.append(result)
            if waiting:
                waiting.pop()()

        places = tuple(
            dict.fromkeys((topic.name, index) for topic in asked.topics for index in topic.partition_indexes)
        )
        yield from broker.coordinators.markers.steps(_marker(asked), places, done)
        if not found:
            yield Until(waiting.append)
        results.append(dict(found[0]))
    return WriteTxnMarkersResponse(
        markers=[_result(asked, codes) for asked, codes in zip(call.request.markers, results, strict=True)]
    )


def _marker(asked: WritableTxnMarker) -> Marker:
    end = EndMarker(
        asked.producer_id, asked.producer_epoch, asked.coordinator_epoch, asked.transaction_result
    )
    return Marker(end, bumps_epoch=asked.transaction_version >= RAISES_EPOCH_SINCE)


def _result(asked: WritableTxnMarker, codes: dict[TopicPartition, ErrorCode]) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=asked.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=index, error_code=codes[topic.name, index]
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ],
    )
