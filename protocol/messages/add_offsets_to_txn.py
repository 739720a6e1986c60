"""AddOffsetsToTxn (25): let a transaction commit offsets of a group."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Int16, Int32, Int64, String, message, wire


@message(api=ApiKey.ADD_OFFSETS_TO_TXN, versions="0-4", flexible="3+", hot=True)
class AddOffsetsToTxnRequest:
    """A request to add the offsets of a group to a transaction.

    Source: KIP-98, KIP-890 (v4).
    """

    transactional_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    group_id: str = wire(String)


@message(api=ApiKey.ADD_OFFSETS_TO_TXN, versions="0-4", flexible="3+", hot=True)
class AddOffsetsToTxnResponse:
    """The outcome.

    Source: KIP-98.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
