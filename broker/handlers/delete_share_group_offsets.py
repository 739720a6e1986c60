"""DeleteShareGroupOffsets: v0.

Behaviour: forgets where a share group without members is in some topics: it begins anew there.  Answered when
that is durable.
Differences from Apache Kafka: none.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

# Imported on the loop, the coordinators would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.shares import Shares as Shares
from broker.loop.call import PARKED, Call, Parked
from groups.errors import GroupError
from groups.share.service import ShareService as ShareService
from groups.share.share_group import ShareGroup
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
    answers: dict[UUID, DeleteShareGroupOffsetsResponseTopic] = {}

    def told(code: ErrorCode) -> None:
        if code != ErrorCode.NONE:
            for answer in answers.values():
                answer.error_code, answer.error_message = code, code.text
        call.reply(DeleteShareGroupOffsetsResponse(responses=responses))

    try:
        with broker.groups.step(call.received_ms) as coordinator:
            share = coordinator.share(call.received_ms)
            group = share.empty_group(call.request.group_id)
            responses = [_answer(broker, group, topic.topic_name) for topic in call.request.topics]
            answers = {answer.topic_id: answer for answer in responses if not answer.error_code}
            share.delete_progress(call.request.group_id, list(answers), told)
    except GroupError as error:
        return DeleteShareGroupOffsetsResponse(
            error_code=error.code, error_message=error.message, responses=[]
        )
    return PARKED


def _answer(broker: Broker, group: ShareGroup, name: str) -> DeleteShareGroupOffsetsResponseTopic:
    topic = broker.catalogue.find(name)
    if topic is not None and topic.topic_id in group.initialized:
        return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic.topic_id)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    message = code.text if topic is None else "There is no offset information to delete."
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=ZERO_UUID, error_code=code, error_message=message
    )
