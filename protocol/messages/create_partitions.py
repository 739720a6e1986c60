"""CreatePartitions (37): add partitions to topics."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, String, message, struct, wire


@struct
class CreatePartitionsAssignment:
    """The brokers for the replicas of one new partition."""

    broker_ids: list[int] = wire(ArrayOf(Int32))


@struct
class CreatePartitionsTopic:
    """A topic and its new size."""

    name: str = wire(String)
    count: int = wire(Int32)  # in all, not how many more
    # null: the broker chooses
    assignments: list[CreatePartitionsAssignment] | None = wire(
        ArrayOf(CreatePartitionsAssignment), nullable="0+"
    )


@message(api=ApiKey.CREATE_PARTITIONS, versions="0-3", flexible="2+", hot=True, elements_max=50_000)
class CreatePartitionsRequest:
    """A request to raise the number of partitions of topics, or only to check whether that would work.

    Source: KIP-195, KIP-599 (v3 quota).
    """

    topics: list[CreatePartitionsTopic] = wire(ArrayOf(CreatePartitionsTopic))
    timeout_ms: int = wire(Int32)
    validate_only: bool = wire(Bool)


@struct
class CreatePartitionsTopicResult:
    """The outcome for one topic."""

    name: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.CREATE_PARTITIONS, versions="0-3", flexible="2+", hot=True)
class CreatePartitionsResponse:
    """The outcome for each topic.

    Source: KIP-195.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    results: list[CreatePartitionsTopicResult] = wire(ArrayOf(CreatePartitionsTopicResult))
