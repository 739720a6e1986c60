"""ListTransactions (66): the transactions that a broker coordinates."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire


@message(api=ApiKey.LIST_TRANSACTIONS, versions="0-2", flexible="0+")
class ListTransactionsRequest:
    """A request for transactions, with several filters.

    Source: KIP-664, KIP-994 (v1 duration), KIP-1152 (v2 pattern).
    """

    state_filters: list[str] = wire(ArrayOf(String))  # []: all
    producer_id_filters: list[int] = wire(ArrayOf(Int64))  # []: all
    duration_filter: int = wire(Int64, "1+", default=-1)  # in ms; negative: all
    # null or empty: all
    transactional_id_pattern: str | None = wire(String, "2+", nullable="2+", default=None)


@struct
class TransactionState:
    """A transaction."""

    transactional_id: str = wire(String)
    producer_id: int = wire(Int64)
    transaction_state: str = wire(String)


@message(api=ApiKey.LIST_TRANSACTIONS, versions="0-2", flexible="0+")
class ListTransactionsResponse:
    """The transactions.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    unknown_state_filters: list[str] = wire(ArrayOf(String))
    transaction_states: list[TransactionState] = wire(ArrayOf(TransactionState))
