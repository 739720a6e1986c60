"""OffsetForLeaderEpoch (23): the end of a leader epoch in the log."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire


@struct
class OffsetForLeaderPartition:
    """An epoch of one partition."""

    partition: int = wire(Int32)
    current_leader_epoch: int = wire(Int32, default=-1)  # -1: do not check
    leader_epoch: int = wire(Int32)


@struct
class OffsetForLeaderTopic:
    """The partitions of one topic."""

    topic: str = wire(String)
    partitions: list[OffsetForLeaderPartition] = wire(ArrayOf(OffsetForLeaderPartition))


@message(api=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="2-4", flexible="4+", hot=True, elements_max=200_000)
class OffsetForLeaderEpochRequest:
    """A request for the ends of epochs, to detect a log that was cut after its leader changed.

    Source: KIP-101, KIP-279, KIP-320 (v2 current epoch, v3 replica id).
    """

    replica_id: int = wire(Int32, "3+", default=-2, ignorable=True)  # -1: a client, -2: a debugging client
    topics: list[OffsetForLeaderTopic] = wire(ArrayOf(OffsetForLeaderTopic))


@struct
class EpochEndOffset:
    """The end of the epoch, or of the last one before it; -1 and -1 when unknown."""

    error_code: int = wire(Int16, default=0)
    partition: int = wire(Int32)
    leader_epoch: int = wire(Int32, default=-1)
    end_offset: int = wire(Int64, default=-1)


@struct
class OffsetForLeaderTopicResult:
    """The ends in one topic."""

    topic: str = wire(String)
    partitions: list[EpochEndOffset] = wire(ArrayOf(EpochEndOffset))


@message(api=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="2-4", flexible="4+", hot=True)
class OffsetForLeaderEpochResponse:
    """The end of each epoch.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    topics: list[OffsetForLeaderTopicResult] = wire(ArrayOf(OffsetForLeaderTopicResult))
