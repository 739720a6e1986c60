"""KawalShareStates: v0.  Kawal's own API, by which the coordinator of a share group changes its states.

Behaviour: makes, sets or deletes the states of a group in partitions that this node leads, for the node that
coordinates the group; answered when that is durable.
Errors: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, COORDINATOR_LOAD_IN_PROGRESS,
COORDINATOR_NOT_AVAILABLE; REQUEST_TIMED_OUT for a request that comes too late.  Clients get no answer: as for
an API that is not served, their connection ends.
Differences from Apache Kafka: its coordinators use InitializeShareGroupState and DeleteShareGroupState, and
the leader finds out at its first fetch where the group begins.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.local_states import LocalStates
from broker.coordinators.shares import Shares as Shares
from broker.handlers.envelope import not_served
from broker.loop.call import Call, Parked
from broker.loop.slices import WaitingSteps, begun
from groups.share.service import ShareService as ShareService
from protocol.messages.kawal_share_states import KawalShareStatesRequest, KawalShareStatesResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(
    broker: Broker, call: Call[KawalShareStatesRequest]
) -> KawalShareStatesResponse | Parked | WaitingSteps:
    """Change the states, and answer when that is durable."""
    if not call.connection.from_peer:
        return not_served(call)
    states = LocalStates(broker, broker, lambda: broker.coordinators.shares)
    answer: KawalShareStatesResponse | WaitingSteps = begun(states.change(call.request))
    return answer
