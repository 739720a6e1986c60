"""OffsetFetch: v1-10.

Behaviour: answers with the durable offsets.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.  v2-7:
the error of a group is that of each partition, too; Kafka tells it once.
Version notes: v2 all topics; v6 flexible; v7 require stable; v8 many groups; v9 member epochs; v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from broker.coordinators.groups import client_of
from broker.loop.call import Call
from broker.loop.slices import ITEMS_PER_STEP, Until, WaitingSteps, begun
from broker.security.authorized_operations import Operation
from groups.offset_fetch import Steps
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

if TYPE_CHECKING:
    from broker.core import Broker
    from broker.security.rights import Rights


def handle(broker: Broker, call: Call[OffsetFetchRequest]) -> OffsetFetchResponse | WaitingSteps:
    """Pass the request to the group coordinator; answer in slices if very much is asked for."""
    ready: list[Steps] = []
    waiting: list[Callable[[], None]] = []

    def begin(steps: Steps) -> None:
        ready.append(steps)
        for resume in waiting:
            resume()

    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.offset_fetch(call.request, client_of(call), begin, call.received_ms)
    steps = _answer(broker, call, ready, waiting)
    if call.rights is not None:
        steps = _visible(broker, steps, call.rights)
    answer: OffsetFetchResponse | WaitingSteps = begun(steps)
    return answer


def _answer(
    broker: Broker, call: Call[OffsetFetchRequest], ready: list[Steps], waiting: list[Callable[[], None]]
) -> WaitingSteps:
    if not ready:
        yield Until(waiting.append)
    request, steps = call.request, ready[0]
    if request.topics is None or any(group.topics is None for group in request.groups):
        return (yield from broker.memory.wide.made(call.api_key, steps))
    return (yield from steps)


def _visible(broker: Broker, steps: WaitingSteps, rights: Rights) -> WaitingSteps:
    """Leave out topics that the client may not see, where all were asked for; named ones are left already."""
    response: OffsetFetchResponse = yield from steps
    answers: list[Any] = [response, *response.groups]
    for answer in answers:
        kept: list[Any] = []
        for number, topic in enumerate(answer.topics, start=1):
            name = topic.name
            if not name:
                known = broker.catalogue.find_id(topic.topic_id)
                name = "" if known is None else known.name
            if not name or rights.may_topic(Operation.DESCRIBE, name):
                kept.append(topic)
            if not number % ITEMS_PER_STEP:
                yield None
        answer.topics = kept
    return response
