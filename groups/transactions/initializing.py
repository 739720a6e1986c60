"""InitProducerId with a transactional id: the producer's id and epoch, and the end of the instance before.

    unknown id                     a producer id, epoch 0
    no producer id in the request  the next epoch: a new instance, which fences the one before
    the producer's id and epoch    the next epoch, after an error; the epoch before: the answer was lost
    a transaction is open          it is aborted in the next epoch; the client asks again (51)
    epochs are exhausted           another producer id, epoch 0
Source: KIP-98, KIP-360, KIP-588; Kafka 4.3's TransactionCoordinator.prepareInitProducerIdTransit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groups.transactions.ending import abort_ongoing
from groups.transactions.states import ANSWERS, Action, Request
from groups.transactions.table import Table, lost
from groups.transactions.transaction import (
    NO_EPOCH,
    NO_ID,
    Transaction,
    initialized,
    initialized_again,
    is_exhausted,
    rotated,
)
from protocol.error_codes import ErrorCode


class Identity(NamedTuple):
    """A producer's id and epoch, or the reason why there is none."""

    code: ErrorCode
    producer_id: int = NO_ID
    epoch: int = NO_EPOCH


class Init(NamedTuple):
    """The fields of a request; id and epoch are -1 where the producer does not name them."""

    transactional_id: str
    timeout_ms: int
    producer_id: int
    epoch: int

    @property
    def names_itself(self) -> bool:
        """Whether the producer says which it is."""
        return self.producer_id != NO_ID


Reply = Callable[[Identity], None]


def init_producer(table: Table, init: Init, reply: Reply, fresh_id: int | None = None) -> None:
    """Answer an InitProducerId; `fresh_id` is a producer id taken for it, if it turned out to need one."""

    def refuse(code: ErrorCode) -> None:
        table.answer(init.transactional_id, lambda: reply(Identity(code)), lambda why: reply(Identity(why)))

    code = _refusal(table, init)
    if code is not None:
        reply(Identity(code))
        return
    known = table.ids.get(init.transactional_id)
    if known is not None:
        if not _may_ask(known, init):
            refuse(ErrorCode.PRODUCER_FENCED)
            return
        answer = ANSWERS[known.state][Request.INIT]
        if isinstance(answer, ErrorCode):
            refuse(answer)
            return
        if answer == Action.FENCE:
            busy = Identity(ErrorCode.CONCURRENT_TRANSACTIONS)
            table.fenced += 1
            abort_ongoing(table, known, lambda why: reply(Identity(why) if why else busy))
            return
    if fresh_id is None and (known is None or known.exhausted):
        _take_id(table, init, reply)
        return
    following = _next(table, known, init, fresh_id)
    if isinstance(following, ErrorCode):
        refuse(following)
        return
    identity = Identity(ErrorCode.NONE, following.producer_id, following.epoch)
    table.put(following, lambda error, _now_ms: reply(Identity(lost(error)) if error else identity))


def _refusal(table: Table, init: Init) -> ErrorCode | None:
    if not init.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if not 0 < init.timeout_ms <= table.config.transaction_max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    if (unserved := table.unserved(init.transactional_id)) is not None:
        return unserved
    if init.transactional_id not in table.ids and not table.make_room():
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return None


def _may_ask(known: Transaction, init: Init) -> bool:
    """Whether the producer is the present one, or was it until its epochs were exhausted."""
    return (
        not init.names_itself
        or init.producer_id == known.producer_id
        or (init.producer_id == known.previous_producer_id and is_exhausted(init.epoch))
    )


def _take_id(table: Table, init: Init, reply: Reply) -> None:
    def taken(found: int | ErrorCode) -> None:
        if isinstance(found, ErrorCode):
            reply(Identity(found))
        else:
            init_producer(table, init, reply, found)

    table.take_id(taken)


def _next(
    table: Table, known: Transaction | None, init: Init, fresh_id: int | None
) -> Transaction | ErrorCode:
    now_ms = table.wall_ms
    if known is None:
        assert fresh_id is not None
        new = Transaction(init.transactional_id, fresh_id, init.timeout_ms, now_ms)
        return initialized(new, last_epoch=NO_EPOCH, timeout_ms=init.timeout_ms, now_ms=now_ms)
    is_present = init.epoch == known.epoch
    last_epoch = known.epoch if init.names_itself else NO_EPOCH
    if known.exhausted and (not init.names_itself or is_present or init.epoch == known.last_epoch):
        assert fresh_id is not None
        return rotated(known, fresh_id, last_epoch=last_epoch, timeout_ms=init.timeout_ms, now_ms=now_ms)
    if not init.names_itself or is_present:
        if known.exhausted:
            return ErrorCode.PRODUCER_FENCED
        return initialized(known, last_epoch=last_epoch, timeout_ms=init.timeout_ms, now_ms=now_ms)
    if init.epoch == known.last_epoch:
        return initialized_again(known, timeout_ms=init.timeout_ms, now_ms=now_ms)
    return ErrorCode.PRODUCER_FENCED
