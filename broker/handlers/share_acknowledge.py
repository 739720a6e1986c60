"""ShareAcknowledge: v1-2.

Behaviour: says what became of records that a member has acquired: accepted, released, rejected, not there,
or (v2) still in work; answered when that is durable.  Each partition is applied or refused on its own, and
refused if the client may not read it.  Epoch -1 closes the share session and gives back the rest.
Differences from Apache Kafka: more than a hundred outcomes in one partition are applied in parts; if a lock
runs out in between, those before count although the answer has an error.  While the memory for records in
flight is full (kawal.share.ranges.max.bytes), an acknowledgement that leaves more rows of records in
different states is refused with COORDINATOR_NOT_AVAILABLE.
Version notes: v1 the first stable one; v2 renewals (KIP-1222) and the duration of locks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.fetching.share_denials import ShareDenials
from broker.fetching.share_exchange import ShareExchange, member_of
from broker.fetching.share_reader import NO_LEADER, UNKNOWN_LEADER
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import WaitingSteps
from groups.errors import GroupError
from groups.share.sessions import CLOSING_EPOCH
from protocol.error_codes import ErrorCode
from protocol.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

DONE: Final = object()


def handle(
    broker: Broker, call: Call[ShareAcknowledgeRequest]
) -> ShareAcknowledgeResponse | Parked | WaitingSteps:
    """Apply the acknowledgements and answer when they are durable."""
    request, queues = call.request, broker.share_queues
    try:
        member, epoch = member_of(request), request.share_session_epoch
        session = queues.sessions.acknowledge(member, epoch, call.connection.identity)
    except GroupError as error:
        return ShareAcknowledgeResponse(
            error_code=error.code, error_message=error.message, responses=[], node_endpoints=[]
        )
    session.active_ms = call.received_ms
    denials = ShareDenials(call.rights, broker.catalogue)
    exchange = ShareExchange(broker, broker, queues, member, denials, lambda: call.reply(_answer(exchange)))
    steps = _steps(exchange, request)
    if next(steps, DONE) is DONE:
        return PARKED
    return steps


def _steps(exchange: ShareExchange, request: ShareAcknowledgeRequest) -> WaitingSteps:
    yield from exchange.acknowledge(request.topics, renews=request.is_renew_ack)
    if request.share_session_epoch == CLOSING_EPOCH:
        yield from exchange.close()
    exchange.done()
    return PARKED


def _answer(exchange: ShareExchange) -> ShareAcknowledgeResponse:
    topics: dict[object, ShareAcknowledgeTopicResponse] = {}
    for (topic_id, index), (code, message) in exchange.acknowledged.items():
        topic = topics.setdefault(topic_id, ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=[]))
        number = UNKNOWN_LEADER if code == ErrorCode.NOT_LEADER_OR_FOLLOWER else NO_LEADER
        leader = LeaderIdAndEpoch(leader_id=number, leader_epoch=number)
        topic.partitions.append(
            PartitionData(
                partition_index=index, error_code=code, error_message=message, current_leader=leader
            )
        )
    return ShareAcknowledgeResponse(
        error_code=ErrorCode.NONE,
        acquisition_lock_timeout_ms=exchange.lock_ms,
        responses=list(topics.values()),
        node_endpoints=[],
    )
