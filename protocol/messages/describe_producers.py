"""DescribeProducers (61): the idempotent producers of partitions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire


@struct
class TopicRequest:
    """The partitions of one topic."""

    name: str = wire(String)
    partition_indexes: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+", hot=True, elements_max=200_000)
class DescribeProducersRequest:
    """A request for the producers of some partitions.

    Source: KIP-664.
    """

    topics: list[TopicRequest] = wire(ArrayOf(TopicRequest))


@struct
class ProducerState:
    """A producer."""

    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int32)
    last_sequence: int = wire(Int32, default=-1)
    last_timestamp: int = wire(Int64, default=-1)
    coordinator_epoch: int = wire(Int32)
    current_txn_start_offset: int = wire(Int64, default=-1)  # -1: no open transaction


@struct
class PartitionResponse:
    """The producers of one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    active_producers: list[ProducerState] = wire(ArrayOf(ProducerState))


@struct
class TopicResponse:
    """The producers of one topic."""

    name: str = wire(String)
    partitions: list[PartitionResponse] = wire(ArrayOf(PartitionResponse))


@message(api=ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+", hot=True)
class DescribeProducersResponse:
    """The broker's knowledge of each producer.

    Source: KIP-664.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    topics: list[TopicResponse] = wire(ArrayOf(TopicResponse))
