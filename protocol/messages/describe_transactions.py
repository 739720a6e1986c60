"""DescribeTransactions (65): the state of transactions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire


@message(api=ApiKey.DESCRIBE_TRANSACTIONS, versions="0", flexible="0+")
class DescribeTransactionsRequest:
    """A request for the state of some transactional ids.

    Source: KIP-664.
    """

    transactional_ids: list[str] = wire(ArrayOf(String))


@struct
class TopicData:
    """The partitions of one topic."""

    topic: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@struct
class TransactionState:
    """A transaction."""

    error_code: int = wire(Int16, default=0)
    transactional_id: str = wire(String)
    transaction_state: str = wire(String)
    transaction_timeout_ms: int = wire(Int32)
    transaction_start_time_ms: int = wire(Int64)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    topics: list[TopicData] = wire(ArrayOf(TopicData))


@message(api=ApiKey.DESCRIBE_TRANSACTIONS, versions="0", flexible="0+")
class DescribeTransactionsResponse:
    """The state of each transaction.

    Source: KIP-664.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    transaction_states: list[TransactionState] = wire(ArrayOf(TransactionState))
