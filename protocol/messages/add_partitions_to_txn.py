"""AddPartitionsToTxn (24): let a transaction write to partitions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, Int64, String, message, struct, wire


@struct
class AddPartitionsToTxnTopic:
    """The partitions of one topic."""

    name: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@struct
class AddPartitionsToTxnTransaction:
    """The partitions to add to one transaction."""

    transactional_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    verify_only: bool = wire(Bool, default=False)  # only check that they are part of it
    topics: list[AddPartitionsToTxnTopic] = wire(ArrayOf(AddPartitionsToTxnTopic))


@message(api=ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-5", flexible="3+", hot=True, elements_max=200_000)
class AddPartitionsToTxnRequest:
    """A request to add partitions to a transaction; from v4 on to several, and sent by brokers only.

    Source: KIP-98, KIP-890 (v4 several transactions, v5).
    """

    transactions: list[AddPartitionsToTxnTransaction] = wire(
        ArrayOf(AddPartitionsToTxnTransaction), "4+", default=[]
    )
    v3_and_below_transactional_id: str = wire(String, "0-3", default="")
    v3_and_below_producer_id: int = wire(Int64, "0-3", default=0)
    v3_and_below_producer_epoch: int = wire(Int16, "0-3", default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = wire(
        ArrayOf(AddPartitionsToTxnTopic), "0-3", default=[]
    )


@struct
class AddPartitionsToTxnPartitionResult:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    partition_error_code: int = wire(Int16, default=0)


@struct
class AddPartitionsToTxnTopicResult:
    """The outcomes for one topic."""

    name: str = wire(String)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = wire(
        ArrayOf(AddPartitionsToTxnPartitionResult)
    )


@struct
class AddPartitionsToTxnResult:
    """The outcomes for one transaction."""

    transactional_id: str = wire(String)
    topic_results: list[AddPartitionsToTxnTopicResult] = wire(ArrayOf(AddPartitionsToTxnTopicResult))


@message(api=ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-5", flexible="3+", hot=True)
class AddPartitionsToTxnResponse:
    """The outcome for each partition.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, "4+", default=0, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = wire(
        ArrayOf(AddPartitionsToTxnResult), "4+", default=[]
    )
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = wire(
        ArrayOf(AddPartitionsToTxnTopicResult), "0-3", default=[]
    )
