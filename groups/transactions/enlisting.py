"""Adding partitions and groups to a transaction, and asking whether a partition is part of one.

A partition must be enlisted, durably, before the first record of the transaction is written to it: else a
crash could leave records that no end will ever reach. A group counts as its partition of __consumer_offsets.
Source: KIP-98, KIP-890; Kafka 4.3's handleAddPartitionsToTransaction, handleVerifyPartitionsInTransaction.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from groups.transactions.states import ANSWERS, PREPARED, Action, Request, TransactionState
from groups.transactions.table import Answer, Table, lost
from groups.transactions.transaction import EPOCH_MAX, TopicPartition, enlisted
from protocol.error_codes import ErrorCode


class Member(NamedTuple):
    """The producer that a request names as the owner of the transaction."""

    transactional_id: str
    producer_id: int
    epoch: int


def enlist(
    table: Table,
    member: Member,
    partitions: AbstractSet[TopicPartition],
    answer: Answer,
    *,
    client_version: int,
) -> None:
    """Add partitions to the producer's transaction, or begin one; answer when that is durable.

    A transaction with more partitions than the settings allow answers POLICY_VIOLATION, and stays as it was.
    """

    def refuse(code: ErrorCode) -> None:
        table.answer(member.transactional_id, lambda: answer(code), answer)

    code = _refusal(table, member)
    if code is not None:
        refuse(code)
        return
    known = table.ids[member.transactional_id]
    judged = ANSWERS[known.state][Request.ENLIST]
    if judged == Action.WAIT:
        again = lambda: enlist(table, member, partitions, answer, client_version=client_version)  # noqa: E731
        table.wait(member.transactional_id, again, answer)
        return
    assert judged == Action.ACCEPT
    is_open = known.state == TransactionState.ONGOING
    if is_open and partitions <= known.partitions:
        refuse(ErrorCode.NONE)
        return
    if _is_too_wide(table, known.partitions if is_open else frozenset(), partitions):
        refuse(ErrorCode.POLICY_VIOLATION)
        return
    new = enlisted(known, frozenset(partitions), client_version=client_version, now_ms=table.wall_ms)
    table.put(new, lambda error, _now_ms: answer(lost(error) if error else ErrorCode.NONE))
    if not is_open:
        table.begun += 1
        table.arm(table, new, table.now_ms)


def _is_too_wide(
    table: Table, partitions: frozenset[TopicPartition], added: AbstractSet[TopicPartition]
) -> bool:
    most = table.config.kawal_transaction_max_partitions
    if len(partitions) + len(added) <= most:
        return False
    return len(added) > most or len(partitions) + len(added - partitions) > most


def is_enlisted(table: Table, member: Member, partition: TopicPartition) -> ErrorCode:
    """Return NONE if the partition is part of the producer's open transaction, and why not otherwise.

    What counts may not be durable yet.
    """
    code = _refusal(table, member)
    if code is not None:
        return code
    known = table.ids[member.transactional_id]
    if known.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.NONE if partition in known.partitions else ErrorCode.TRANSACTION_ABORTABLE


def _refusal(table: Table, member: Member) -> ErrorCode | None:
    if not member.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if (unserved := table.unserved(member.transactional_id)) is not None:
        return unserved
    known = table.ids.get(member.transactional_id)
    if known is None or known.producer_id != member.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.epoch != member.epoch or known.epoch == EPOCH_MAX:
        # The greatest epoch only fences; no producer is given it.
        return ErrorCode.PRODUCER_FENCED
    return None
