"""InitProducerId (22): get a producer id and epoch."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Int16, Int32, Int64, String, message, wire


@message(api=ApiKey.INIT_PRODUCER_ID, versions="0-5", flexible="2+", hot=True)
class InitProducerIdRequest:
    """A request for a producer id, or for a new epoch of a transactional id.

    v6 (two-phase commit, KIP-939) is not yet stable in Kafka 4.3 and not declared.
    Source: KIP-98, KIP-360 (v3 epoch of the caller), KIP-588 (v4 PRODUCER_FENCED), KIP-890 (v5).
    """

    transactional_id: str | None = wire(String, nullable="0+")  # null: idempotence only
    transaction_timeout_ms: int = wire(Int32)
    producer_id: int = wire(Int64, "3+", default=-1)  # -1: none yet
    producer_epoch: int = wire(Int16, "3+", default=-1)


@message(api=ApiKey.INIT_PRODUCER_ID, versions="0-5", flexible="2+", hot=True)
class InitProducerIdResponse:
    """The producer id and epoch to use.

    Source: KIP-98.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    producer_id: int = wire(Int64, default=-1)
    producer_epoch: int = wire(Int16)
