"""DeleteShareGroupOffsets: v0.

Behaviour: forgets where a share group without members is in some topics: it begins anew there.  Answered when
that is durable.
Differences from Apache Kafka: none.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from broker.loop.call import PARKED, Call, Parked
from groups.errors import GroupError
from protocol.error_codes import ErrorCode
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from broker.core import Broker


def handle(
    broker: Broker, call: Call[DeleteShareGroupOffsetsRequest]
) -> DeleteShareGroupOffsetsResponse | Parked:
    """Delete the states of an empty group in these topics."""
    known = broker.catalogue.by_name
    responses = [
        _answer(
            topic.topic_name, known[topic.topic_name].topic_id if topic.topic_name in known else ZERO_UUID
        )
        for topic in call.request.topics
    ]
    found = {answer.topic_id: answer for answer in responses if not answer.error_code}

    def told(code: ErrorCode) -> None:
        if code != ErrorCode.NONE:
            for answer in found.values():
                answer.error_code, answer.error_message = code, code.text
        call.reply(DeleteShareGroupOffsetsResponse(responses=responses))

    try:
        with broker.groups.step(call.received_ms) as coordinator:
            share = coordinator.share(call.received_ms)
            share.delete_progress(call.request.group_id, list(found), told)
    except GroupError as error:
        return DeleteShareGroupOffsetsResponse(
            error_code=error.code, error_message=error.message, responses=[]
        )
    return PARKED


def _answer(name: str, topic_id: UUID) -> DeleteShareGroupOffsetsResponseTopic:
    answer = DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)
    if topic_id == ZERO_UUID:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        answer.error_message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.text
    return answer
