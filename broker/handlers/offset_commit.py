"""OffsetCommit: v2-10.

Behaviour: answers when the offsets are durable.
Differences from Apache Kafka: a request with more than 200 partitions is stored in several batches, in slices
beside the requests of others; after a crash before its answer, a part of it may be there.  Others are those
of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v6 leader epochs; v7 static members; v8 flexible; v9 member epochs (KIP-848); v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Final

from broker.coordinators.groups import client_of
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Until, WaitingSteps, chunks
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from broker.core import Broker

PARTITIONS_AT_ONCE: Final = 200
"""The partitions that are committed as one batch and in one go: about 4 ms."""

PARTITIONS_PER_STEP: Final = 40
"""The partitions of one batch when there are more: about 1 ms."""


def handle(broker: Broker, call: Call[OffsetCommitRequest]) -> Parked | WaitingSteps:
    """Pass the request to the group coordinator."""
    if sum(len(topic.partitions) for topic in call.request.topics) > PARTITIONS_AT_ONCE:
        return _in_parts(broker, call)
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.offset_commit(call.request, client_of(call), call.reply, call.received_ms)
    return PARKED


def _in_parts(broker: Broker, call: Call[OffsetCommitRequest]) -> WaitingSteps:
    """Commit a part in each step; return the whole answer when all of them are durable."""
    answers = _Answers(call.request)
    for number, part in _parts(call.request):
        now_ms = broker.clock.turn_ms
        with broker.groups.step(now_ms) as coordinator:
            coordinator.offset_commit(part, client_of(call), answers.expect(number), now_ms)
        yield None
    yield Until(answers.when_complete)
    return answers.joined()


def _parts(request: OffsetCommitRequest) -> Iterator[tuple[int, OffsetCommitRequest]]:
    """Yield requests with a few partitions of one topic each, and the topic's number."""
    for number, topic in enumerate(request.topics):
        for partitions in chunks(topic.partitions, per_step=PARTITIONS_PER_STEP):
            part_of_topic, part = copy(topic), copy(request)
            part_of_topic.partitions = list(partitions)
            part.topics = [part_of_topic]
            yield number, part


class _Answers:
    """The answers to the parts of a request; they come in any order."""

    def __init__(self, request: OffsetCommitRequest) -> None:
        self._request = request
        self._parts: list[tuple[int, list[OffsetCommitResponsePartition]]] = []
        self._open = 0
        self._complete: Callable[[], None] | None = None

    def expect(self, number: int) -> Callable[[OffsetCommitResponse], None]:
        """Return the function that takes the answer to the next part, of the topic of this number."""
        partitions: list[OffsetCommitResponsePartition] = []
        self._parts.append((number, partitions))
        self._open += 1

        def answered(response: OffsetCommitResponse) -> None:
            partitions.extend(response.topics[0].partitions)
            self._open -= 1
            if not self._open and self._complete is not None:
                self._complete()

        return answered

    def when_complete(self, resume: Callable[[], None]) -> None:
        """Call `resume` when every part is answered."""
        self._complete = resume
        if not self._open:
            resume()

    def joined(self) -> OffsetCommitResponse:
        """Return one answer, in the order of the request."""
        topics = [
            OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=[])
            for topic in self._request.topics
        ]
        for number, partitions in self._parts:
            topics[number].partitions.extend(partitions)
        return OffsetCommitResponse(topics=topics)
