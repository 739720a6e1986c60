"""Writing the ends of transactions into partitions that any node of the cluster leads.

What this node leads is written here (markers.py); the others get it by WriteTxnMarkers, each node all of its
partitions of a transaction in as few requests as hold them. A request that is not answered may have been
carried out: its partitions are reported as refused, the coordinator orders all markers again, and those that
are there already change nothing.

A marker has the epoch of its coordinator: the leader epoch of the node, which rises with each of its starts
and is in the log of the decision before that is durable. So a partition that has a marker of the present
coordinator refuses late ones of the process before.
Source: KIP-98; Kafka 4.3's TransactionMarkerChannelManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from broker.catalogue.metadata import Metadata
from broker.coordinators.markers import Done, Marker, MarkerWriter, Refused, TopicPartition
from broker.loop.slices import chunks
from protocol.error_codes import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from broker.storage.vnode import Vnode

PLACES_PER_REQUEST: Final = 1_000
"""The partitions of one request: it takes at most 260 KB, and about 40 ms of the node that gets it."""

PLACES_PER_STEP: Final = 100
"""The partitions whose leaders are looked up between two looks at the time: about 0.1 ms."""

VERSION: Final = 2

RAISES_EPOCH: Final = 2
"""The transaction.version of markers that have an epoch of their own."""


class ClusterMarkers:
    """The writer of markers on a node that is not alone: it serves the coordinator as MarkerWriter does."""

    def __init__(self, metadata: Metadata, writer: MarkerWriter) -> None:
        self._metadata = metadata
        self._writer = writer

    def goes_to(self, place: TopicPartition, home: Vnode | None) -> bool:
        """Whether a partition's marker would be the next entry of this vnode's log, or is not needed."""
        return self._leader(place) is None and self._writer.goes_to(place, home)

    def steps(self, marker: Marker, partitions: tuple[TopicPartition, ...], done: Done) -> Iterator[None]:
        """Write a marker to partitions; yield now and then. `done` when all is durable, or has failed."""
        here: list[TopicPartition] = []
        away: dict[int, list[TopicPartition]] = {}
        for number, place in enumerate(partitions, 1):
            leader = self._leader(place)
            (here if leader is None else away.setdefault(leader, [])).append(place)
            if not number % PLACES_PER_STEP:
                yield
        outcome = _Outcome(done)
        for leader, places in away.items():
            for part in chunks(places, per_step=PLACES_PER_REQUEST):
                self._send(leader, marker, part, outcome.expect())
                yield
        yield from self._writer.steps(marker, tuple(here), outcome.take)

    def _leader(self, place: TopicPartition) -> int | None:
        """Return the other node that leads a partition; None: this one, or there is no such partition."""
        name, index = place
        topic = self._metadata.catalogue.find(name)
        if topic is None or topic.view is not None or not 0 <= index < topic.partition_count:
            return None
        leader, _ = self._metadata.topics.leader(topic, index)
        return None if leader == self._metadata.nodes.own_id else leader

    def _send(self, leader: int, marker: Marker, places: Sequence[TopicPartition], report: Done) -> None:
        def answered(response: WriteTxnMarkersResponse | None) -> None:
            report(_refused(places, response))

        self._metadata.nodes.peers.call(leader, _request(marker, places), VERSION, answered)


def _request(marker: Marker, places: Sequence[TopicPartition]) -> WriteTxnMarkersRequest:
    topics: dict[str, list[int]] = {}
    for name, index in places:
        topics.setdefault(name, []).append(index)
    asked = WritableTxnMarker(
        producer_id=marker.end.producer_id,
        producer_epoch=marker.end.epoch,
        transaction_result=marker.end.commit,
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()
        ],
        coordinator_epoch=marker.end.coordinator_epoch,
        transaction_version=RAISES_EPOCH if marker.bumps_epoch else 0,
    )
    return WriteTxnMarkersRequest(markers=[asked])


def _refused(places: Sequence[TopicPartition], response: Any | None) -> Refused:
    """Return the partitions for which the answer does not say that they have the marker."""
    refused = dict.fromkeys(places, ErrorCode.NETWORK_EXCEPTION)
    for result in () if response is None else response.markers:
        for topic in result.topics:
            for partition in topic.partitions:
                place = topic.name, partition.partition_index
                if partition.error_code == ErrorCode.NONE:
                    refused.pop(place, None)
                else:
                    refused[place] = ErrorCode(partition.error_code)
    return refused


class _Outcome:
    """The reports of all parts of one call; complete when each has come."""

    def __init__(self, done: Done) -> None:
        self._done = done
        self._refused: dict[TopicPartition, ErrorCode] = {}
        # The part that is written here is always there, and the last to begin.
        self._outstanding = 1

    def expect(self) -> Callable[[Refused], None]:
        """Return what takes the report of one part more."""
        self._outstanding += 1
        return self.take

    def take(self, refused: Refused) -> None:
        """Take the report of one part."""
        self._refused.update(refused)
        self._outstanding -= 1
        if not self._outstanding:
            self._done(self._refused)
