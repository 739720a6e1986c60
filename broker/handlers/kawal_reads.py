"""KawalReads: v0.  Kawal's own API, by which a node that is fetched from learns for which groups that is.

Behaviour: answers with the groups of clients, as far as this node coordinates them, and with the partitions
that the clients have for them and the other node leads.  The groups of a client that is a member of none with
settings for reading here are told only if that is asked for.  It answers once it knows the catalogue that the
other one knows: that names the groups which have settings.
Errors: REQUEST_TIMED_OUT if it does not come to know it, COORDINATOR_LOAD_IN_PROGRESS before the members of
these groups are known.
Clients get no answer: as for an API that is not served, their connection ends.
Differences from Apache Kafka: its groups have no such settings.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.catalogue.asking import known_here
from broker.catalogue.topics import OFFSETS_TOPIC

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.reads_elsewhere import ClusterReads
from broker.handlers.envelope import not_served
from broker.loop.call import Call, Parked
from broker.loop.slices import WaitingSteps
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_reads import (
    NO_POSITION,
    ClientReads,
    GroupPlaces,
    KawalReadsRequest,
    KawalReadsResponse,
    TopicPlaces,
)

if TYPE_CHECKING:
    from uuid import UUID

    from broker.coordinators.own_reads import ClientGroups, Positions
    from broker.core import Broker

WAIT_MS: Final = 5_000
"""How long the catalogue is waited for."""


def handle(broker: Broker, call: Call[KawalReadsRequest]) -> Parked | WaitingSteps:
    """Answer with the groups of clients."""
    if not call.connection.from_peer:
        return not_served(call)
    return _answer(broker, call)


def _answer(broker: Broker, call: Call[KawalReadsRequest]) -> WaitingSteps:
    request, reads = call.request, broker.member_reads
    assert isinstance(reads, ClusterReads), "a node that is alone has no others"
    if not (yield from known_here(broker, request.catalogue_version, call.received_ms + WAIT_MS)):
        return KawalReadsResponse(error_code=ErrorCode.REQUEST_TIMED_OUT, clients=[])
    if OFFSETS_TOPIC not in broker.catalogue.by_name:
        return KawalReadsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, clients=[])
    clients = [((client.host, client.client_id), client.every) for client in request.clients]
    found = yield from reads.own.of(broker.groups, reads.settings, clients, request.node_id)
    if found is None:
        return KawalReadsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, clients=[])
    return KawalReadsResponse(
        life=broker.nodes.epoch_of(broker.nodes.own_id),
        changes=found.changes,
        clients=[_told(groups) for groups in found.clients],
    )


def _told(groups: ClientGroups) -> ClientReads:
    return ClientReads(
        groups=[
            GroupPlaces(group_id=group_id, topics=_by_topic(places)) for group_id, places in groups.items()
        ]
    )


def _by_topic(places: Positions) -> list[TopicPlaces]:
    found: dict[UUID, TopicPlaces] = {}
    for (topic_id, index), position in places.items():
        topic = found.get(topic_id)
        if topic is None:
            topic = found[topic_id] = TopicPlaces(topic_id=topic_id, partitions=[], positions=[])
        topic.partitions.append(index)
        topic.positions.append(NO_POSITION if position is None else position)
    return list(found.values())
