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
from broker.loop.slices import Pace, Steps, begun
from groups.transactions.transaction import Transaction, by_topic
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

if TYPE_CHECKING:
    from broker.core import Broker

IDS_PER_STEP = 10
"""The ids between two looks at the time."""

PARTITIONS_PER_ID = 50
"""The partitions of a transaction that take as long as the rest of an id."""


def handle(broker: Broker, call: Call[DescribeTransactionsRequest]) -> DescribeTransactionsResponse | Steps:
    """Describe each id on its own."""
    answer: DescribeTransactionsResponse | Steps = begun(_describe(broker, call))
    return answer


def _describe(broker: Broker, call: Call[DescribeTransactionsRequest]) -> Steps:
    found: list[TransactionState] = []
    pace = Pace(IDS_PER_STEP)
    for transactional_id in call.request.transactional_ids:
        with broker.transactions.step(broker.clock.turn_ms) as machine:
            known = machine.described(transactional_id)
        found.append(_shown(transactional_id, known))
        width = 0 if isinstance(known, ErrorCode) else len(known.partitions)
        if pace.due(1 + width // PARTITIONS_PER_ID):
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
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=known.state.shown,
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.start_ms,
        producer_id=known.producer_id,
        producer_epoch=known.epoch,
        topics=[TopicData(topic=name, partitions=indexes) for name, indexes in by_topic(known.partitions)],
    )
