"""DeleteTopics: v1-6.

Behaviour: a topic's records are gone when the answer leaves; its id and stream ids are never used again.
Parked fetches on it are answered at once.
Differences from Apache Kafka: a name that no topic can have answers 3, as Kafka's does.
Version notes: v4 flexible; v5 error messages; v6 by topic id, either the name or the id (KIP-516).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.call import PARKED, Call, Parked
from broker.errors import RequestError
from broker.topics import Topic
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[DeleteTopicsRequest]) -> DeleteTopicsResponse | Parked:
    """Delete every topic that is named once."""
    request = call.request
    asked = (
        request.topics
        if call.version >= 6
        else [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in request.topic_names]
    )
    results: list[DeletableTopicResult] = []
    for item, topic in zip(asked, _find_all(broker, asked), strict=True):
        result = DeletableTopicResult(name=item.name, topic_id=item.topic_id)
        try:
            if isinstance(topic, RequestError):
                raise topic
            broker.delete_topic(topic, call.received_ms)
            result.name, result.topic_id = topic.name, topic.topic_id
        except RequestError as error:
            result.error_code, result.error_message = error.code, error.message
        results.append(result)
    response = DeleteTopicsResponse(responses=results)
    deleted = [result for result in results if not result.error_code]
    if not deleted:
        return response

    def recorded(error: ErrorCode | None) -> None:
        if error is not None:
            for result in deleted:
                result.error_code = error
        call.reply(response)

    broker.topics.when_durable(recorded, call.received_ms)
    return PARKED


def _find_all(broker: Broker, asked: list[DeleteTopicState]) -> list[Topic | RequestError]:
    """What each item names; a topic named twice, by whatever means, is refused each time."""
    found = [_find(broker, item) for item in asked]
    topics = [topic.name for topic in found if isinstance(topic, Topic)]
    return [
        RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        if isinstance(topic, Topic) and topics.count(topic.name) > 1
        else topic
        for topic in found
    ]


def _find(broker: Broker, item: DeleteTopicState) -> Topic | RequestError:
    if not broker.config.delete_topic_enable:
        return RequestError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false on the server")
    if item.name is not None and item.topic_id != ZERO_UUID:
        return RequestError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if item.name is None and item.topic_id == ZERO_UUID:
        return RequestError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if item.name is None:
        return broker.catalogue.by_id.get(item.topic_id) or RequestError(
            ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."
        )
    return broker.catalogue.by_name.get(item.name) or RequestError(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
    )
