"""AddOffsetsToTxn: v0-4.

Behaviour: adds the partition of __consumer_offsets that holds a group to a producer's transaction, which
begins with it if there is none; answers when that is durable, and serves no later request of the connection
before.
Differences from Apache Kafka: while the markers of the transaction before are being written, the request
waits for them, half a second at most, before it answers CONCURRENT_TRANSACTIONS.
Version notes: v2 PRODUCER_FENCED (v0 and v1: INVALID_PRODUCER_EPOCH, KIP-588); v3 flexible; v4 codes of
KIP-890.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators.groups import partition_of
from broker.coordinators.transactions import FENCED_SINCE, shown
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import WaitingSteps, begun, outcome_of
from groups.transactions.enlisting import Member
from groups.transactions.transaction import TV1
from protocol.error_codes import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[AddOffsetsToTxnRequest]) -> Parked | WaitingSteps:
    """Pass the group's partition to the transaction coordinator."""
    answer: Parked | WaitingSteps = begun(_add(broker, call))
    return answer


def _add(broker: Broker, call: Call[AddOffsetsToTxnRequest]) -> WaitingSteps:
    request = call.request
    place = OFFSETS_TOPIC, partition_of(broker.groups, request.group_id, call.received_ms)
    member = Member(request.transactional_id, request.producer_id, request.producer_epoch)

    def enlist(added: Callable[[ErrorCode], None]) -> None:
        now_ms = broker.clock.turn_ms
        with broker.transactions.step(now_ms) as machine:
            machine.enlist(member, frozenset({place}), added, now_ms, client_version=TV1)

    code = yield from outcome_of(enlist)
    call.reply(AddOffsetsToTxnResponse(error_code=shown(code, call.version, FENCED_SINCE)))
    return PARKED
