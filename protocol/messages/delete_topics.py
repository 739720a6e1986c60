"""DeleteTopics (20): delete topics."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ZERO_UUID, ArrayOf, Int16, Int32, String, Uuid, message, struct, wire


@struct
class DeleteTopicState:
    """A topic, by its name or, with a null name, by its id."""

    name: str | None = wire(String, nullable="0+", default=None)
    topic_id: UUID = wire(Uuid, default=ZERO_UUID)


@message(api=ApiKey.DELETE_TOPICS, versions="1-6", flexible="4+", hot=True, elements_max=50_000)
class DeleteTopicsRequest:
    """A request to delete topics, by name, or from v6 on by name or id.

    Source: KIP-4, KIP-516 (v6 ids), KIP-599 (v5 quota).
    """

    topics: list[DeleteTopicState] = wire(ArrayOf(DeleteTopicState), "6+", default=[])
    topic_names: list[str] = wire(ArrayOf(String), "0-5", default=[], ignorable=True)
    timeout_ms: int = wire(Int32)


@struct
class DeletableTopicResult:
    """The outcome for one topic."""

    name: str | None = wire(String, nullable="6+", default=None)
    topic_id: UUID = wire(Uuid, "6+", default=ZERO_UUID, ignorable=True)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, "5+", nullable="5+", default=None, ignorable=True)


@message(api=ApiKey.DELETE_TOPICS, versions="1-6", flexible="4+", hot=True)
class DeleteTopicsResponse:
    """The outcome for each topic.

    Source: KIP-4, KIP-516 (v6 ids).
    """

    throttle_time_ms: int = wire(Int32, default=0)
    responses: list[DeletableTopicResult] = wire(ArrayOf(DeletableTopicResult))
