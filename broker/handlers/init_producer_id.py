"""InitProducerId: v0-5.

Behaviour: gives an idempotent producer an id that was never given out before, with epoch 0.  A producer that
names its id and epoch (v3+, without transactional id) gets a new id, as in Kafka; an id without an epoch, or
the reverse, is refused.  With a transactional id it gives the id's producer id in its next epoch, which
fences the instance before; if that has a transaction open, the transaction is aborted, and the client is told
to ask again (CONCURRENT_TRANSACTIONS).
Differences from Apache Kafka: when the memory for transactional ids is full, those unused for longest are
forgotten (kawal.transactions.max.bytes); if all are in use, COORDINATOR_NOT_AVAILABLE.
Version notes: v2 flexible; v3 id and epoch of the caller (KIP-360); v4 PRODUCER_FENCED (before:
INVALID_PRODUCER_EPOCH, KIP-588); v5 codes of KIP-890.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.coordinators.transactions import shown
from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
from groups.transactions.initializing import Identity, Init
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from broker.core import Broker


NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
FENCED_SINCE: Final = 4


def handle(broker: Broker, call: Call[InitProducerIdRequest]) -> InitProducerIdResponse | Parked:
    """Answer with a producer id and epoch, at once or when they are recorded."""
    request = call.request
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    if request.transactional_id is None:
        return _take(broker, call)
    init = Init(
        request.transactional_id, request.transaction_timeout_ms, request.producer_id, request.producer_epoch
    )

    def answered(identity: Identity) -> None:
        call.reply(
            InitProducerIdResponse(
                error_code=shown(identity.code, call.version, FENCED_SINCE),
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
            )
        )

    with broker.transactions.step(call.received_ms) as machine:
        machine.init_producer(init, answered, call.received_ms)
    return PARKED


def _take(broker: Broker, call: Call[InitProducerIdRequest]) -> InitProducerIdResponse | Parked:
    """Answer with a fresh producer id."""

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
