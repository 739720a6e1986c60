"""TxnOffsetCommit: v0-5.

Behaviour: stores offsets that count when the transaction is committed; answers when they are durable.  From
v5 on the group becomes part of the transaction with the request; before, AddOffsetsToTxn must have made it
so.
Differences from Apache Kafka: none known.
Version notes: v2 leader epochs; v3 group membership (KIP-447), flexible; v4 TRANSACTION_ABORTABLE (before:
INVALID_TXN_STATE, KIP-890); v5 enlists the group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators.groups import partition_of
from broker.coordinators.transactions import shown
from broker.loop.call import PARKED, Call, Parked
from broker.storage.transaction_guards import offsets_key
from groups.transactions.enlisting import Member
from groups.transactions.transaction import TV2, TopicPartition
from protocol.error_codes import ErrorCode
from protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

if TYPE_CHECKING:
    from broker.core import Broker

ABORTABLE_SINCE: Final = 4
ENLISTS_SINCE: Final = 5
NEVER: Final = 1 << 15
"""Clients are not told of PRODUCER_FENCED here, in any version."""


def handle(broker: Broker, call: Call[TxnOffsetCommitRequest]) -> Parked:
    """Make sure that the group is part of the transaction, then pass the offsets to the group coordinator."""
    request, now_ms = call.request, call.received_ms
    if not request.group_id:
        _refuse(broker, call, ErrorCode.INVALID_GROUP_ID)
        return PARKED
    _commit(broker, call, (OFFSETS_TOPIC, partition_of(broker.groups, request.group_id, now_ms)))
    return PARKED


def _commit(broker: Broker, call: Call[TxnOffsetCommitRequest], place: TopicPartition) -> None:
    request, guards = call.request, broker.coordinators.guards
    stream_key = offsets_key(place[1])
    number = guards.set(stream_key, request.producer_id)

    def allowed(code: ErrorCode) -> None:
        holds = guards.holds(stream_key, request.producer_id, number)
        guards.release(stream_key, request.producer_id)
        if code == ErrorCode.NONE and not holds:
            if call.version >= ENLISTS_SINCE:
                # It has waited for the markers of the transaction before: that was no end of this one.
                _commit(broker, call, place)
                return
            code = ErrorCode.INVALID_TXN_STATE
        if code:
            _refuse(broker, call, _shown(code, call.version))
            return
        now_ms = broker.clock.turn_ms
        with broker.groups.step(now_ms) as groups:
            groups.txn_offset_commit(request, call.reply, now_ms)

    _ask(broker, call, place, allowed)


def _refuse(broker: Broker, call: Call[TxnOffsetCommitRequest], code: ErrorCode) -> None:
    now_ms = broker.clock.turn_ms
    with broker.groups.step(now_ms) as groups:
        call.reply(groups.refuse_txn_commit(call.request, code, now_ms))


def _ask(
    broker: Broker,
    call: Call[TxnOffsetCommitRequest],
    place: TopicPartition,
    allowed: Callable[[ErrorCode], None],
) -> None:
    """Call `allowed` when the transaction has the group's partition, durably, or with the reason why not."""
    request, now_ms = call.request, broker.clock.turn_ms
    member = Member(request.transactional_id, request.producer_id, request.producer_epoch)
    with broker.transactions.step(now_ms) as machine:
        if call.version >= ENLISTS_SINCE:
            machine.enlist(member, frozenset({place}), allowed, now_ms, client_version=TV2)
            return
        code = machine.is_enlisted(member, place)
        machine.after_writes(member.transactional_id, lambda lost: allowed(lost or code), now_ms)


def _shown(code: ErrorCode, version: int) -> ErrorCode:
    """Return the code that a client of this version understands."""
    if code == ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_SINCE:
        return ErrorCode.INVALID_TXN_STATE
    if code == ErrorCode.CONCURRENT_TRANSACTIONS and version < ENLISTS_SINCE:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return shown(code, version, NEVER)
