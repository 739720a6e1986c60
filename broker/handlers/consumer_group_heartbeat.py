"""ConsumerGroupHeartbeat: v0-1.

Behaviour: the whole consumer protocol (KIP-848): join, keep alive, reconcile, leave.
Differences from Apache Kafka: those of the coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v1 regular expressions resolved on the server, member ids made by clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker.coordinators.groups import client_of
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import WaitingSteps, in_thread
from groups.regexes import RegexIndex
from groups.sorted_names import sorted_names
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

if TYPE_CHECKING:
    from broker.core import Broker


def prepare(request: ConsumerGroupHeartbeatRequest) -> None:
    """Sort the names of the topics, each once, and encode them for the member's record."""
    if request.subscribed_topic_names is not None:
        names: Any = sorted_names(request.subscribed_topic_names)
        request.subscribed_topic_names = names


def handle(broker: Broker, call: Call[ConsumerGroupHeartbeatRequest]) -> Parked | WaitingSteps:
    """Pass the request to the group coordinator."""
    with broker.groups.step(call.received_ms) as coordinator:
        regex = call.request.subscribed_topic_regex
        if regex and coordinator.regexes.needs_search(regex):
            return _searched(broker, call, coordinator.regexes, regex)
        coordinator.consumer_group_heartbeat(call.request, client_of(call), call.reply, call.received_ms)
    return PARKED


def _searched(
    broker: Broker, call: Call[ConsumerGroupHeartbeatRequest], regexes: RegexIndex, regex: str
) -> WaitingSteps:
    """Pass it on when a thread has found the topics that match its new pattern."""
    search = regexes.search(regex)
    try:
        yield from in_thread(broker.scheduler.offload, search.run)
        now_ms = broker.clock.turn_ms
        with broker.groups.step(now_ms) as coordinator:
            coordinator.consumer_group_heartbeat(call.request, client_of(call), call.reply, now_ms)
    finally:
        regexes.end(search)
    return PARKED
