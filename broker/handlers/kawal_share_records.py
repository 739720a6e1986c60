"""KawalShareRecords: v0.  Kawal's own API, by which leaders of partitions have states of share groups stored.

Behaviour: gives another node of the cluster the states that it serves out of a partition of
__share_group_state, and stores what it changes, in a session; answered when that is durable.
Errors: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE; FENCED_STATE_EPOCH for all but the next
request of the last session; UNKNOWN_TOPIC_OR_PARTITION for a state in a topic that is not known here, or led
by another node.  Clients get no answer: as for an API that is not served, their connection ends.
Differences from Apache Kafka: its leaders use ReadShareGroupState and WriteShareGroupState, with one request
for each state when it is loaded, and a leader's epoch as the fence.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.kept_states import KeptStates as KeptStates
from broker.coordinators.shares import Shares as Shares
from broker.handlers.envelope import not_served
from broker.loop.call import Call, Parked
from broker.loop.slices import WaitingSteps, begun
from groups.share.service import ShareService as ShareService
from protocol.messages.kawal_share_records import KawalShareRecordsRequest, KawalShareRecordsResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(
    broker: Broker, call: Call[KawalShareRecordsRequest]
) -> KawalShareRecordsResponse | Parked | WaitingSteps:
    """Pass the request to what keeps the states."""
    if not call.connection.from_peer:
        return not_served(call)
    answer: KawalShareRecordsResponse | WaitingSteps = begun(
        broker.coordinators.shares.kept.serve(call.request)
    )
    return answer
