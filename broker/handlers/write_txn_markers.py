"""WriteTxnMarkers: v1-2.

Behaviour: writes the ends of transactions into partitions, for administrators that abort one that hangs.
Each partition answers when its marker is durable; one that repeats a marker of transaction.version 2 answers
success.
Differences from Apache Kafka: a marker of transaction.version 2 that repeats another is not stored again.
A partition that another node leads answers NOT_LEADER_OR_FOLLOWER (Kafka: UNKNOWN_TOPIC_OR_PARTITION).
A marker is written whether the transaction coordinator knows the transaction or not, as in Kafka.  Another
node's later requests are served while its markers become durable.
Version notes: v2 transaction version, which decides how strictly the epoch is judged (KIP-1228).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Final

from broker.coordinators.markers import MARKERS_PER_STEP, Marker, Refused, TopicPartition
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Pace, Until, WaitingSteps, at_once, begun, chunks
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

PARTITIONS_PER_STEP: Final = 100
"""The partitions that are looked at, or answered, between two looks at the time: about 0.1 ms."""

RAISES_EPOCH_SINCE: Final = 2
"""The first transaction.version whose markers have an epoch of their own."""


def handle(broker: Broker, call: Call[WriteTxnMarkersRequest]) -> Parked | WaitingSteps:
    """Write every marker, then answer when all are durable."""
    if not call.connection.from_peer:
        return _write_all(broker, call)
    answer: Parked | WaitingSteps = begun(_write_for_node(broker, call))
    return answer


def _write_all(broker: Broker, call: Call[WriteTxnMarkersRequest]) -> WaitingSteps:
    written: deque[tuple[int, tuple[TopicPartition, ...], _Report]] = deque()
    pace, markers = Pace(PARTITIONS_PER_STEP), Pace(MARKERS_PER_STEP)
    for asked in call.request.markers:
        found: dict[TopicPartition, None] = {}
        for topic in asked.topics:
            for part in chunks(topic.partition_indexes, per_step=PARTITIONS_PER_STEP):
                found.update(dict.fromkeys(zip(repeat(topic.name), part, strict=False)))
                if pace.due(len(part)):
                    yield None
            if pace.due():
                yield None
        if pace.due():
            yield None
        if not found:
            continue
        places = tuple(found)
        written.append((asked.producer_id, places, report := _Report()))
        yield from broker.coordinators.markers.steps(_marker(asked), places, report.take)
        if markers.due(1 + len(places)):
            yield None
    # All are on their way by now, in one frame or few: one by one, each would wait for a commit of its own.
    results: list[WritableTxnMarkerResult] = []
    while written:  # and each is freed when it is done
        producer_id, places, report = written.popleft()
        yield Until(report.when_taken)
        results.append((yield from _result(producer_id, places, report.refused, pace)))
    return WriteTxnMarkersResponse(markers=results)


def _write_for_node(broker: Broker, call: Call[WriteTxnMarkersRequest]) -> WaitingSteps:
    """Write what another node has decided, in requests of a limited size; answer when all is durable."""
    asked = call.request.markers
    places = [tuple(_places_of(marker)) for marker in asked]
    reports: dict[int, Refused] = {}

    def take(number: int, refused: Refused) -> None:
        reports[number] = refused
        if len(reports) < len(asked):
            return
        results = [
            at_once(_result(marker.producer_id, places[each], reports[each], Pace(PARTITIONS_PER_STEP)))
            for each, marker in enumerate(asked)
        ]
        call.reply(WriteTxnMarkersResponse(markers=results))

    for number, marker in enumerate(asked):
        done = partial(take, number)
        yield from broker.coordinators.markers.steps(_marker(marker), places[number], done)
    return PARKED


def _places_of(marker: WritableTxnMarker) -> Iterator[TopicPartition]:
    for topic in marker.topics:
        yield from zip(repeat(topic.name), topic.partition_indexes, strict=False)


class _Report:
    """The outcome of one marker, once it is there."""

    def __init__(self) -> None:
        self.refused: Refused = {}
        self._is_taken = False
        self._resume: Callable[[], None] | None = None

    def take(self, refused: Refused) -> None:
        """Take the outcome, and go on if it was waited for."""
        self.refused, self._is_taken = refused, True
        if self._resume is not None:
            self._resume()

    def when_taken(self, resume: Callable[[], None]) -> None:
        """Call `resume` when the outcome is there."""
        self._resume = resume
        if self._is_taken:
            resume()


def _marker(asked: WritableTxnMarker) -> Marker:
    end = EndMarker(
        asked.producer_id, asked.producer_epoch, asked.coordinator_epoch, asked.transaction_result
    )
    return Marker(end, bumps_epoch=asked.transaction_version >= RAISES_EPOCH_SINCE)


def _result(
    producer_id: int, places: tuple[TopicPartition, ...], refused: Refused, pace: Pace
) -> Generator[None, None, WritableTxnMarkerResult]:
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for place in places:
        name, index = place
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = WritableTxnMarkerTopicResult(name=name, partitions=[])
        code = refused.get(place, ErrorCode.NONE)
        topic.partitions.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=code))
        if pace.due():
            yield
    return WritableTxnMarkerResult(producer_id=producer_id, topics=list(topics.values()))
