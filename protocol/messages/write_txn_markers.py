"""WriteTxnMarkers (27): write the ends of transactions into partitions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, Int64, String, message, struct, wire


@struct
class WritableTxnMarkerTopic:
    """The partitions of one topic."""

    name: str = wire(String)
    partition_indexes: list[int] = wire(ArrayOf(Int32))


@struct
class WritableTxnMarker:
    """The end of one transaction."""

    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    transaction_result: bool = wire(Bool)  # True: commit, False: abort
    topics: list[WritableTxnMarkerTopic] = wire(ArrayOf(WritableTxnMarkerTopic))
    coordinator_epoch: int = wire(Int32)
    transaction_version: int = wire(Int8, "2+", default=0, ignorable=True)


@message(api=ApiKey.WRITE_TXN_MARKERS, versions="1-2", flexible="1+", hot=True, elements_max=50_000)
class WriteTxnMarkersRequest:
    """A request to write markers; sent by brokers, and by administrators to abort a hanging transaction.

    Source: KIP-98, KIP-664, KIP-1228 (v2 transaction version).
    """

    markers: list[WritableTxnMarker] = wire(ArrayOf(WritableTxnMarker))


@struct
class WritableTxnMarkerPartitionResult:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@struct
class WritableTxnMarkerTopicResult:
    """The outcomes for one topic."""

    name: str = wire(String)
    partitions: list[WritableTxnMarkerPartitionResult] = wire(ArrayOf(WritableTxnMarkerPartitionResult))


@struct
class WritableTxnMarkerResult:
    """The outcomes for one transaction."""

    producer_id: int = wire(Int64)
    topics: list[WritableTxnMarkerTopicResult] = wire(ArrayOf(WritableTxnMarkerTopicResult))


@message(api=ApiKey.WRITE_TXN_MARKERS, versions="1-2", flexible="1+", hot=True)
class WriteTxnMarkersResponse:
    """The outcome for each partition.

    Source: as for the request.
    """

    markers: list[WritableTxnMarkerResult] = wire(ArrayOf(WritableTxnMarkerResult))
