"""EndTxn: v0-5.

Behaviour: answers when the outcome is durable; the markers follow.  From v5 on the epoch rises with every
transaction and the answer has the producer's id and epoch for the next one; the request with the epoch before
is a repetition and answered as before.
Differences from Apache Kafka: while a request of the same producer is being stored, Kafka answers
CONCURRENT_TRANSACTIONS; here the requests are served in their order.  When the epochs are exhausted the
answer names the next producer id at once.
Version notes: v2 PRODUCER_FENCED (v0 and v1: INVALID_PRODUCER_EPOCH, KIP-588); v3 flexible; v5 KIP-890.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.coordinators.transactions import FENCED_SINCE, shown
from broker.loop.call import PARKED, Call, Parked
from groups.transactions.ending import End, Ended
from groups.transactions.transaction import TV1, TV2
from protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

if TYPE_CHECKING:
    from broker.core import Broker

RAISES_EPOCH_SINCE: Final = 5


def handle(broker: Broker, call: Call[EndTxnRequest]) -> Parked:
    """Pass the request to the transaction coordinator."""
    request, now_ms = call.request, call.received_ms
    version = TV2 if call.version >= RAISES_EPOCH_SINCE else TV1
    end = End(
        request.transactional_id, request.producer_id, request.producer_epoch, request.committed, version
    )

    def answered(answer: Ended) -> None:
        call.reply(
            EndTxnResponse(
                error_code=shown(answer.code, call.version, FENCED_SINCE),
                producer_id=answer.producer_id,
                producer_epoch=answer.epoch,
            )
        )

    with broker.transactions.step(now_ms) as machine:
        machine.end(end, answered, now_ms)
    return PARKED
