"""KawalMessages: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: tells the ids of messages at some offsets of a topic with kawal.message.ids, and the offsets of
messages with some ids.  Each is looked up on its own and may have an error of its own: a message that was
deleted, or that a repair has left without a number.
Differences from Apache Kafka: Kafka has no such API, and closes the connection.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.config.message_keys import is_nonpartitioned
from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.slices import WaitingSteps
from broker.storage.message_ids import NO_PARTITION, Looking, id_at, place_of
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_messages import (
    KawalMessagesRequest,
    KawalMessagesResponse,
    LocatedMessage,
    MessageId,
    MessageOffset,
)

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.core import Broker

LOOKUPS_MAX: Final = 1_000
"""Each may read 16 MiB."""


def handle(broker: Broker, call: Call[KawalMessagesRequest]) -> KawalMessagesResponse | WaitingSteps:
    """Answer with ids and places, one after the other."""
    request = call.request
    try:
        topic = broker.find_topic(request.topic)
        if topic.view is not None or broker.topics.counted_source(topic) is None:
            raise RequestError(
                ErrorCode.INVALID_REQUEST,
                f"topic {request.topic!r} has no message ids: it was created without kawal.message.ids=true",
            )
        if len(request.offsets) + len(request.ids) > LOOKUPS_MAX:
            raise RequestError(
                ErrorCode.INVALID_REQUEST, f"a request may look up {LOOKUPS_MAX} messages at most"
            )
    except RequestError as error:
        return KawalMessagesResponse(error_code=error.code, error_message=error.message, messages=[])
    return _answer(broker, topic, request)


def _answer(broker: Broker, topic: Topic, request: KawalMessagesRequest) -> WaitingSteps:
    response = KawalMessagesResponse(messages=[])
    asked: list[MessageOffset | MessageId] = [*request.offsets, *request.ids]
    for item in asked:
        try:
            answer = yield from _located(broker, topic, item)
        except RequestError as error:
            answer = LocatedMessage(error_code=error.code, error_message=error.message)
        response.messages.append(answer)
        yield None
    return response


def _located(broker: Broker, topic: Topic, item: MessageOffset | MessageId) -> WaitingSteps:
    index, shown = item.partition, item.partition
    if is_nonpartitioned(topic.configs):
        shown = NO_PARTITION
        if isinstance(item, MessageId):
            if index != NO_PARTITION:
                raise RequestError(
                    ErrorCode.INVALID_REQUEST,
                    f"the partition in ids of topic {topic.name!r} is -1 (kawal.nonpartitioned), not {index}",
                )
            index = 0
    partition = broker.topics.partition(topic, index)
    offload = broker.scheduler.offload
    looking: Looking
    if isinstance(item, MessageOffset):
        looking = id_at(partition, item.offset, offload)
    else:
        looking = place_of(partition, item.ledger, item.entry, item.batch_index, offload)
    found = yield from looking
    return LocatedMessage(
        ledger=found.ledger,
        entry=found.entry,
        partition=shown,
        batch_index=found.batch_index,
        partition_index=index,
        offset=found.offset,
        first_offset=found.first_offset,
        last_offset=found.last_offset,
        exact=found.exact,
    )
