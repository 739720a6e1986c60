"""OffsetCommit: v2-10.

Behaviour: answers when the offsets are durable.
Differences from Apache Kafka: a request with more than 200 partitions is stored in several batches, in slices
beside the requests of others; after a crash before its answer, a part of it may be there.  When the memory
for offsets is full (kawal.offsets.max.bytes), a group's first offset in a partition is refused with
COORDINATOR_NOT_AVAILABLE.  Others are those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v6 leader epochs; v7 static members; v8 flexible; v9 member epochs (KIP-848); v10 topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.coordinators.offset_parts import PartAnswers, parts_of, takes_parts
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Until, WaitingSteps, made_of
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[OffsetCommitRequest]) -> Parked | WaitingSteps:
    """Pass the request to the group coordinator."""
    if takes_parts(call.request):
        return _in_parts(broker, call)
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.offset_commit(call.request, client_of(call), call.reply, call.received_ms)
    return PARKED


def _in_parts(broker: Broker, call: Call[OffsetCommitRequest]) -> WaitingSteps:
    """Commit a part in each step; return the whole answer when all of them are durable."""
    answers = PartAnswers()
    for found in parts_of(call.request):
        if found is not None:
            number, part = found
            now_ms = broker.clock.turn_ms
            with broker.groups.step(now_ms) as coordinator:
                coordinator.offset_commit(part, client_of(call), answers.expect_part(number), now_ms)
        yield None
    yield Until(answers.when_complete)
    topics = yield from made_of(
        call.request.topics,
        lambda topic: OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=[]),
        per_step=PLAIN_ITEMS_PER_STEP,
    )
    yield from answers.put_into(topics)
    return OffsetCommitResponse(topics=topics)
