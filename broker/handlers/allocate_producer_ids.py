"""AllocateProducerIds: v0.

Behaviour: gives another node of the cluster a block of producer ids that no producer had or will have; the
answer leaves when that is durable.  A block whose answer is lost is never given out.
Errors: NOT_CONTROLLER; KAFKA_STORAGE_ERROR.  Clients get no answer: as for an API that is not served, their
connection ends.
Differences from Apache Kafka: the broker's epoch is not looked at: there is none.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.errors import RequestError
from broker.handlers.envelope import not_served
from broker.loop.call import PARKED, Call, Parked
from protocol.error_codes import ErrorCode
from protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[AllocateProducerIdsRequest]) -> AllocateProducerIdsResponse | Parked:
    """Reserve a block, and answer with it once it is recorded."""
    if not call.connection.from_peer:
        return not_served(call)
    if not broker.nodes.is_controller:
        return AllocateProducerIdsResponse(error_code=ErrorCode.NOT_CONTROLLER)

    def reserved(block: range | ErrorCode) -> None:
        if isinstance(block, ErrorCode):
            call.reply(AllocateProducerIdsResponse(error_code=block))
        else:
            answer = AllocateProducerIdsResponse(producer_id_start=block.start, producer_id_len=len(block))
            call.reply(answer)

    try:
        broker.producer_ids.reserve(reserved, call.received_ms)
    except RequestError as error:
        return AllocateProducerIdsResponse(error_code=error.code)
    return PARKED
