"""DeleteShareGroupOffsets (92): forget the progress of an empty share group in some topics."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, Uuid, message, struct, wire


@struct
class DeleteShareGroupOffsetsRequestTopic:
    """A topic."""

    topic_name: str = wire(String)


@message(api=ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest:
    """A request to forget a group's progress in all partitions of some topics.

    Source: KIP-932 and Kafka 4.3's DeleteShareGroupOffsetsRequest.json.
    """

    group_id: str = wire(String)
    topics: list[DeleteShareGroupOffsetsRequestTopic] = wire(ArrayOf(DeleteShareGroupOffsetsRequestTopic))


@struct
class DeleteShareGroupOffsetsResponseTopic:
    """The outcome for one topic."""

    topic_name: str = wire(String)
    topic_id: UUID = wire(Uuid)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse:
    """The outcome by topic.

    Source: KIP-932 and Kafka 4.3's DeleteShareGroupOffsetsResponse.json.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = wire(
        ArrayOf(DeleteShareGroupOffsetsResponseTopic)
    )
