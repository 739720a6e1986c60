"""DescribeTransactions: v0.

Behaviour: the state, producer and partitions of transactional ids.
Differences from Apache Kafka: none known.
Version notes: none.  Source: KIP-664.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.transactions import Transactions as Transactions
from broker.loop.call import Call
from broker.loop.slices import Steps, in_slices
from groups.transactions.transaction import Transaction
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

if TYPE_CHECKING:
    from broker.core import Broker

IDS_PER_STEP = 5
"""The ids between two looks at the time: a transaction may have many partitions."""

IDS_AT_ONCE = 50


def handle(broker: Broker, call: Call[DescribeTransactionsRequest]) -> DescribeTransactionsResponse | Steps:
    """Describe each id on its own."""
    count = len(call.request.transactional_ids)
    answer: DescribeTransactionsResponse | Steps = in_slices(
        _describe(broker, call), count, per_slice=IDS_AT_ONCE
    )
    return answer


def _describe(broker: Broker, call: Call[DescribeTransactionsRequest]) -> Steps:
    found: list[TransactionState] = []
    for transactional_id in call.request.transactional_ids:
        with broker.transactions.step(broker.clock.turn_ms) as machine:
            found.append(_shown(transactional_id, machine.described(transactional_id)))
        if not len(found) % IDS_PER_STEP:
            yield
    return DescribeTransactionsResponse(transaction_states=found)


def _shown(transactional_id: str, known: Transaction | ErrorCode) -> TransactionState:
    if isinstance(known, ErrorCode):
        return TransactionState(
            error_code=known,
            transactional_id=transactional_id,
            transaction_state="",
            transaction_timeout_ms=0,
            transaction_start_time_ms=0,
            producer_id=0,
            producer_epoch=0,
            topics=[],
        )
    topics: dict[str, list[int]] = {}
    for name, index in sorted(known.partitions):
        topics.setdefault(name, []).append(index)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=known.state.shown,
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.start_ms,
        producer_id=known.producer_id,
        producer_epoch=known.epoch,
        topics=[TopicData(topic=name, partitions=indexes) for name, indexes in topics.items()],
    )
