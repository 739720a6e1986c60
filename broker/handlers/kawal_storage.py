"""KawalStorage: v0.  Kawal's own API, by which the node that tells of all logs asks the others.

Behaviour: answers with the storage of this node's logs, of up to a hundred that are not as the request says.
Errors: none.  Clients get no answer: as for an API that is not served, their connection ends.
Differences from Apache Kafka: it has no such topic.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.handlers.envelope import not_served
from broker.loop.call import Call, Parked
from broker.loop.slices import WaitingSteps
from broker.upkeep.asked_nodes import catalogue_version
from broker.upkeep.own_logs import changed_logs, own_logs, value_of
from protocol.messages.kawal_storage import KawalStorageRequest, KawalStorageResponse, LogState

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[KawalStorageRequest]) -> Parked | WaitingSteps:
    """Answer with the logs that have changed."""
    if not call.connection.from_peer:
        return not_served(call)
    return _answer(broker, {log.name: tuple(log.version) for log in call.request.known})


def _answer(broker: Broker, known: dict[str, tuple[int, ...]]) -> WaitingSteps:
    logs = own_logs(broker, broker.vnodes)
    changed, has_more = changed_logs(logs, known)
    states = []
    wall_ms = broker.clock.wall_ms(broker.clock.turn_ms)
    for name, version in changed.items():
        state = value_of(logs[name], wall_ms, broker.nodes)
        states.append(LogState(name=name, version=list(version), state=state))
        yield None
    return KawalStorageResponse(
        logs=states,
        has_more=has_more,
        catalogue_version=catalogue_version(broker, broker.meta.log.next_version),
    )
