"""The contents of __transaction_state, as Kafka declares them.

Source: Kafka 4.3, transaction-coordinator/src/main/resources/common/message/TransactionLog{Key,Value}.json.
"""

from __future__ import annotations

from protocol.wire import ArrayOf, Int8, Int16, Int32, Int64, String, message, struct, wire


@message(versions="0", hot=True)
class TransactionLogKey:
    """A transactional id."""

    transactional_id: str = wire(String)


@struct
class PartitionsSchema:
    """The partitions of one topic."""

    topic: str = wire(String)
    partition_ids: list[int] = wire(ArrayOf(Int32))


@message(versions="0-1", flexible="1+", hot=True)
class TransactionLogValue:
    """The state of a transactional id."""

    producer_id: int = wire(Int64)
    previous_producer_id: int = wire(Int64, "1+", default=-1, tag=0, ignorable=True)
    next_producer_id: int = wire(Int64, "1+", default=-1, tag=1, ignorable=True)
    producer_epoch: int = wire(Int16)
    transaction_timeout_ms: int = wire(Int32)
    transaction_status: int = wire(Int8)
    transaction_partitions: list[PartitionsSchema] | None = wire(ArrayOf(PartitionsSchema), nullable="0+")
    transaction_last_update_timestamp_ms: int = wire(Int64)
    transaction_start_timestamp_ms: int = wire(Int64)
    client_transaction_version: int = wire(Int16, "1+", default=0, tag=2, ignorable=True)
