"""Ending a transaction: the decision, its markers, and the record that they are written.

    request --> PREPARE record --durable--> the answer; markers in all partitions --durable--> COMPLETE record

The driver may write the markers into a log that has the PREPARE record without waiting: what comes later in a
log is not durable before what comes earlier.
Source: KIP-98, KIP-890, KIP-1228; Kafka 4.3's TransactionCoordinator.endTransaction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groups.effects import Done
from groups.transactions.states import ANSWERS, PREPARED, Action, Request, TransactionState
from groups.transactions.table import Answer, MarkerOrder, Table, lost
from groups.transactions.transaction import (
    EPOCH_MAX,
    NO_EPOCH,
    NO_ID,
    TV1,
    TV2,
    Transaction,
    completed,
    ended,
)
from protocol.error_codes import ErrorCode

_REQUESTS = {
    # (commits, protocol, epoch before)
    (True, TV1, False): Request.COMMIT,
    (False, TV1, False): Request.ABORT,
    (True, TV2, False): Request.COMMIT_2,
    (False, TV2, False): Request.ABORT_2,
    (True, TV2, True): Request.COMMIT_2_AGAIN,
    (False, TV2, True): Request.ABORT_2_AGAIN,
}


class End(NamedTuple):
    """The fields of a request."""

    transactional_id: str
    producer_id: int
    epoch: int
    commit: bool
    client_version: int


class Ended(NamedTuple):
    """The answer, with the producer's id and epoch for its next transaction (second protocol)."""

    code: ErrorCode
    producer_id: int = NO_ID
    epoch: int = NO_EPOCH


Reply = Callable[[Ended], None]


def end_transaction(table: Table, end: End, reply: Reply, fresh_id: int | None = None) -> None:
    """Answer an EndTxn; `fresh_id` is a producer id taken for it, if it has turned out to need one."""

    def tell(answer: Ended) -> None:
        table.answer(end.transactional_id, lambda: reply(answer), lambda why: reply(Ended(why)))

    judged = _judge(table, end)
    if isinstance(judged, ErrorCode):
        tell(Ended(judged))
        return
    known = table.ids[end.transactional_id]
    if judged == Action.TELL:
        tell(_identity(known, end.client_version))
        return
    assert judged == Action.ACCEPT
    next_id = NO_ID
    if end.client_version == TV2 and known.exhausted:
        if fresh_id is None:
            _take_id(table, end, reply)
            return
        next_id = fresh_id
    new = ended(
        known,
        commit=end.commit,
        client_version=end.client_version,
        next_producer_id=next_id,
        now_ms=table.wall_ms,
    )
    answer = _identity(completed(new, now_ms=new.update_ms), end.client_version)
    decide(table, new, lambda error, _now_ms: reply(Ended(lost(error)) if error else answer))


def _judge(table: Table, end: End) -> Action | ErrorCode:
    if not end.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if (unserved := table.unserved(end.transactional_id)) is not None:
        return unserved
    known = table.ids.get(end.transactional_id)
    if known is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    is_before = end.client_version == TV2 and _is_epoch_before(known, end)
    if known.producer_id != end.producer_id and not is_before:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if (known.epoch != end.epoch or end.epoch == EPOCH_MAX) and not is_before:
        return ErrorCode.PRODUCER_FENCED
    return ANSWERS[known.state][_REQUESTS[end.commit, end.client_version, is_before]]


def _is_epoch_before(known: Transaction, end: End) -> bool:
    """Whether the request names the epoch that the end of the last transaction raised."""
    if known.producer_id == end.producer_id:
        return known.epoch == end.epoch + 1
    return known.previous_producer_id == end.producer_id and known.epoch == 0 and end.epoch == EPOCH_MAX - 1


def _identity(known: Transaction, client_version: int) -> Ended:
    if client_version == TV1:
        return Ended(ErrorCode.NONE)
    return Ended(ErrorCode.NONE, known.producer_id, known.epoch)


def _take_id(table: Table, end: End, reply: Reply) -> None:
    def taken(found: int | ErrorCode) -> None:
        if isinstance(found, ErrorCode):
            reply(Ended(found))
        else:
            end_transaction(table, end, reply, found)

    table.take_id(taken)


# --- by the server itself -----------------------------------------------------------------------------------


def abort_ongoing(table: Table, known: Transaction, answer: Answer) -> None:
    """Abort an open transaction in an epoch above its producer's, which is thereby fenced."""
    assert known.state == TransactionState.ONGOING
    new = ended(known, commit=False, client_version=TV2, next_producer_id=NO_ID, now_ms=table.wall_ms)
    decide(table, new, lambda error, _now_ms: answer(lost(error) if error else ErrorCode.NONE))


def abort_overdue(table: Table, known: Transaction) -> None:
    """Abort a transaction that is open for longer than its producer has asked for."""
    table.timed_out += 1
    abort_ongoing(table, known, lambda _code: None)


# --- the markers --------------------------------------------------------------------------------------------


def decide(table: Table, new: Transaction, done: Done) -> None:
    """Store a decision and have its markers written."""
    prepared = table.put(new, done)
    table.order(new, prepared)


def marked(table: Table, order: MarkerOrder) -> None:
    """Note that all markers of an order are durable, or will be before all that is stored from now on."""
    transactional_id = order.transactional_id
    known = table.ids.get(transactional_id)
    if table.orders.get(transactional_id) is not order or known is None or known.state not in PREPARED:
        return
    del table.orders[transactional_id]

    def done(error: ErrorCode | None, now_ms: int) -> None:
        table.now_ms = now_ms
        if error is None:
            table.committed += order.commit
            table.aborted += not order.commit
            table.ended_ms += max(table.wall_ms - known.start_ms, 0)
        else:
            table.order_again(transactional_id)

    table.put(completed(known, now_ms=table.wall_ms), done)
    table.go_on(transactional_id)


def not_marked(table: Table, order: MarkerOrder) -> None:
    """Have the markers written again: some could not be stored."""
    if table.orders.get(order.transactional_id) is order:
        del table.orders[order.transactional_id]
        table.order_again(order.transactional_id)
