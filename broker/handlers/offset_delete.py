"""OffsetDelete: v0.

Behaviour: deletes committed offsets of topics that the group does not subscribe to.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: none.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.offset_parts import PartAnswers, parts_of, takes_parts
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Until, WaitingSteps, made_of
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[OffsetDeleteRequest]) -> Parked | WaitingSteps:
    """Pass the request to the group coordinator."""
    if takes_parts(call.request):
        return _in_parts(broker, call)
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.offset_delete(call.request, call.reply, call.received_ms)
    return PARKED


def _in_parts(broker: Broker, call: Call[OffsetDeleteRequest]) -> WaitingSteps:
    """Delete a part in each step; return the whole answer when all of them are durable."""
    request = call.request
    answers = PartAnswers()
    # The group is looked at before all parts, whatever these are about.
    first = OffsetDeleteRequest(group_id=request.group_id, topics=[])
    goes_on = False
    for found in chain([(0, first)], parts_of(request)):
        if found is not None:
            number, part = found
            now_ms = broker.clock.turn_ms
            with broker.groups.step(now_ms) as coordinator:
                coordinator.offset_delete(part, answers.expect_part(number), now_ms, goes_on=goes_on)
            goes_on = True
            if answers.error_code:
                break
        yield None
    yield Until(answers.when_complete)
    if answers.error_code:
        return OffsetDeleteResponse(error_code=answers.error_code, topics=[])
    topics = yield from made_of(
        request.topics,
        lambda topic: OffsetDeleteResponseTopic(name=topic.name, partitions=[]),
        per_step=PLAIN_ITEMS_PER_STEP,
    )
    yield from answers.put_into(topics)
    return OffsetDeleteResponse(topics=topics)
