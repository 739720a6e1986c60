"""AllocateProducerIds (67): producer ids for another node to give out."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Int16, Int32, Int64, message, wire


@message(api=ApiKey.ALLOCATE_PRODUCER_IDS, versions="0", flexible="0+")
class AllocateProducerIdsRequest:
    """A request for a block of ids.

    Source: AllocateProducerIdsRequest.json.
    """

    broker_id: int = wire(Int32)
    broker_epoch: int = wire(Int64, default=-1)


@message(api=ApiKey.ALLOCATE_PRODUCER_IDS, versions="0", flexible="0+")
class AllocateProducerIdsResponse:
    """The first id of the block, and how many there are.

    Source: AllocateProducerIdsResponse.json.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    producer_id_start: int = wire(Int64, default=0)
    producer_id_len: int = wire(Int32, default=0)
