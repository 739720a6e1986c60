"""OffsetFetch: v1-10.

Behaviour: answers with the durable offsets.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v2 all topics; v6 flexible; v7 require stable; v8 many groups; v9 member epochs; v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.coordinators.groups import client_of
from broker.loop.call import Call
from broker.loop.slices import Until, WaitingSteps, in_slices
from groups.offset_fetch import Steps
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[OffsetFetchRequest]) -> OffsetFetchResponse | WaitingSteps:
    """Pass the request to the group coordinator; answer in slices if very much is asked for."""
    begun: list[Steps] = []
    waiting: list[Callable[[], None]] = []

    def begin(steps: Steps) -> None:
        begun.append(steps)
        for resume in waiting:
            resume()

    with broker.groups.step(call.received_ms) as coordinator:
        count = coordinator.offset_fetch(call.request, client_of(call), begin, call.received_ms)
    answer: OffsetFetchResponse | WaitingSteps = in_slices(_answer(begun, waiting), count)
    return answer


def _answer(begun: list[Steps], waiting: list[Callable[[], None]]) -> WaitingSteps:
    if not begun:
        yield Until(waiting.append)
    return (yield from begun[0])
