"""EndTxn (26): commit or abort a transaction."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Bool, Int16, Int32, Int64, String, message, wire


@message(api=ApiKey.END_TXN, versions="0-5", flexible="3+", hot=True)
class EndTxnRequest:
    """A request to end a transaction.

    Source: KIP-98, KIP-890 (v5 the producer epoch rises).
    """

    transactional_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    committed: bool = wire(Bool)


@message(api=ApiKey.END_TXN, versions="0-5", flexible="3+", hot=True)
class EndTxnResponse:
    """The outcome; from v5 on with the epoch for the next transaction.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    producer_id: int = wire(Int64, "5+", default=-1, ignorable=True)  # -1: unchanged
    producer_epoch: int = wire(Int16, "5+", default=-1, ignorable=True)  # -1: unchanged
