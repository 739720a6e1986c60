"""WriteTxnMarkers: v1-2.

Behaviour: writes the ends of transactions into partitions, for administrators that abort one that hangs.
Each partition answers when its marker is durable; one that repeats a marker of transaction.version 2 answers
success.
Differences from Apache Kafka: a marker of transaction.version 2 that repeats another is not stored again.
This node is the only broker, so no broker sends it; a marker is written whether the transaction coordinator
knows the transaction or not, as in Kafka.
Version notes: v2 transaction version, which decides how strictly the epoch is judged (KIP-1228).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.coordinators.markers import Marker, Result
from broker.loop.call import Call
from broker.loop.slices import Until, WaitingSteps
from groups.effects import EndMarker
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


def handle(broker: Broker, call: Call[WriteTxnMarkersRequest]) -> WaitingSteps:
    """Write every marker, then answer when all are durable."""
    results: list[tuple[int, list[Result]]] = []
    for asked in call.request.markers:
        places = tuple(
            dict.fromkeys((topic.name, index) for topic in asked.topics for index in topic.partition_indexes)
        )
        if not places:
            continue
        report = _Report()
        yield from broker.coordinators.markers.steps(_marker(asked), places, report.take)
        yield Until(report.when_taken)
        results.append((asked.producer_id, report.results))
    return WriteTxnMarkersResponse(markers=[_result(*result) for result in results])


class _Report:
    """The results of one marker, once they are there."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self._is_taken = False
        self._resume: Callable[[], None] | None = None

    def take(self, results: list[Result]) -> None:
        """Take the results, and go on if they were waited for."""
        self.results, self._is_taken = results, True
        if self._resume is not None:
            self._resume()

    def when_taken(self, resume: Callable[[], None]) -> None:
        """Call `resume` when the results are there."""
        self._resume = resume
        if self._is_taken:
            resume()


def _marker(asked: WritableTxnMarker) -> Marker:
    end = EndMarker(
        asked.producer_id, asked.producer_epoch, asked.coordinator_epoch, asked.transaction_result
    )
    return Marker(end, bumps_epoch=asked.transaction_version >= RAISES_EPOCH_SINCE)


def _result(producer_id: int, results: list[Result]) -> WritableTxnMarkerResult:
    topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    for (name, index), code in results:
        answer = WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
        topics.setdefault(name, []).append(answer)
    return WritableTxnMarkerResult(
        producer_id=producer_id,
        topics=[
            WritableTxnMarkerTopicResult(name=name, partitions=answers) for name, answers in topics.items()
        ],
    )
