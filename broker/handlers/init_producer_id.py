"""InitProducerId: v0-5.

Behaviour: gives an idempotent producer an id that was never given out before, with epoch 0.  A producer that
names its id and epoch (v3+, without transactional id) gets a new id, as in Kafka; an id without an epoch, or
the reverse, is refused.
Differences from Apache Kafka: transactional ids are not served yet and answer UNSUPPORTED_VERSION, which
every client treats as final; the empty transactional id answers INVALID_REQUEST, as in Kafka.
Version notes: v2 flexible; v3 id and epoch of the caller (KIP-360); v4 and v5 error codes of transactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from broker.core import Broker


NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


def handle(broker: Broker, call: Call[InitProducerIdRequest]) -> InitProducerIdResponse | Parked:
    """Answer with a fresh producer id, at once or when its block is recorded."""
    transactional_id = call.request.transactional_id
    if transactional_id is not None:
        code = ErrorCode.UNSUPPORTED_VERSION if transactional_id else ErrorCode.INVALID_REQUEST
        return InitProducerIdResponse(error_code=code, producer_epoch=-1)
    if (call.request.producer_id == NO_PRODUCER_ID) != (call.request.producer_epoch == NO_PRODUCER_EPOCH):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)

    def taken(identity: int | ErrorCode) -> None:
        if isinstance(identity, ErrorCode):
            call.reply(InitProducerIdResponse(error_code=identity, producer_epoch=-1))
        else:
            call.reply(InitProducerIdResponse(producer_id=identity, producer_epoch=0))

    try:
        broker.producer_ids.take(taken, call.received_ms)
    except RequestError as error:
        return InitProducerIdResponse(error_code=error.code, producer_epoch=-1)
    return PARKED
