"""KawalProgress: v0.  Kawal's own API, by which a node that keeps records for groups learns how far they are.

Behaviour: answers with groups that this node coordinates and that hold records, and with their offsets in
partitions that the other node leads, as far as they have changed after a number that this node gave before.
It answers once it knows the catalogue that the other one knows: that names the groups which hold records.
Errors: REQUEST_TIMED_OUT if it does not come to know it, COORDINATOR_NOT_AVAILABLE if it has no groups yet,
COORDINATOR_LOAD_IN_PROGRESS if groups were loaded again meanwhile.
Clients get no answer: as for an API that is not served, their connection ends.
Differences from Apache Kafka: its groups hold no records.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.catalogue.asking import known_here
from broker.catalogue.topics import OFFSETS_TOPIC

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.own_progress import OwnProgress
from broker.handlers.envelope import not_served
from broker.loop.call import Call, Parked
from broker.loop.slices import WaitingSteps
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_progress import (
    NO_OFFSET,
    HoldingGroup,
    KawalProgressRequest,
    KawalProgressResponse,
    TopicProgress,
)

if TYPE_CHECKING:
    from broker.coordinators.own_progress import Progress
    from broker.core import Broker

WAIT_MS: Final = 5_000
"""How long the catalogue is waited for."""


def handle(broker: Broker, call: Call[KawalProgressRequest]) -> Parked | WaitingSteps:
    """Answer with what has changed."""
    if not call.connection.from_peer:
        return not_served(call)
    return _answer(broker, call)


def _answer(broker: Broker, call: Call[KawalProgressRequest]) -> WaitingSteps:
    request = call.request
    if not (yield from known_here(broker, request.catalogue_version, call.received_ms + WAIT_MS)):
        return _refused(ErrorCode.REQUEST_TIMED_OUT)
    if OFFSETS_TOPIC not in broker.catalogue.by_name:
        return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    found = yield from OwnProgress(broker, broker, broker.groups).changed(
        request.life, request.after, request.node_id
    )
    return _refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) if found is None else _told(found)


def _refused(code: ErrorCode) -> KawalProgressResponse:
    return KawalProgressResponse(error_code=code, groups=[], progress=[])


def _told(found: Progress) -> KawalProgressResponse:
    return KawalProgressResponse(
        has_more=found.has_more,
        life=found.life,
        next_after=found.next_after,
        groups=[
            HoldingGroup(group_id=group_id, topics=sorted(topics))
            for group_id, topics in found.groups.items()
        ],
        progress=[
            TopicProgress(
                group_id=group_id,
                topic=topic,
                partitions=[partition for partition, _ in places],
                offsets=[NO_OFFSET if offset is None else offset for _, offset in places],
            )
            for (group_id, topic), places in found.positions.items()
        ],
    )
