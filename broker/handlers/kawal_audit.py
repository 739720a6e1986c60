"""KawalAudit: v0.  Kawal's own API, by which a node has its audit events stored by the leader of their topic.

Behaviour: appends a batch of events to `__kawal_audit`, unless it is there already; answered when that is
durable.  The controller has the topic made if there is none.
Errors: UNKNOWN_TOPIC_OR_PARTITION, until this node knows the topic; NOT_LEADER_OR_FOLLOWER;
KAFKA_STORAGE_ERROR; OUT_OF_ORDER_SEQUENCE_NUMBER; CORRUPT_MESSAGE.  Clients get no answer: as for an API that
is not served, their connection ends.
Differences from Apache Kafka: it has no audit log.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.errors import RequestError
from broker.handlers.envelope import not_served
from broker.loop.call import PARKED, Call, Parked
from broker.upkeep.audit_topic import append_of_node
from protocol.messages.kawal_audit import KawalAuditRequest, KawalAuditResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[KawalAuditRequest]) -> KawalAuditResponse | Parked:
    """Append the events, and answer when they are durable."""
    if not call.connection.from_peer:
        return not_served(call)
    # Its own bytes: those of the request are used again.
    batch = bytearray(call.request.records)
    try:
        append_of_node(
            broker, broker, batch, lambda code: call.reply(KawalAuditResponse(error_code=int(code or 0)))
        )
    except RequestError as error:
        return KawalAuditResponse(error_code=error.code)
    return PARKED
