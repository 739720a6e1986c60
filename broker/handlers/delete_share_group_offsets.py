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
from broker.loop.slices import Pace, WaitingSteps, begun
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
) -> DeleteShareGroupOffsetsResponse | Parked | WaitingSteps:
    """Delete the states of an empty group in these topics."""
    answer: DeleteShareGroupOffsetsResponse | Parked | WaitingSteps = begun(_answer(broker, call))
    return answer


def _answer(broker: Broker, call: Call[DeleteShareGroupOffsetsRequest]) -> WaitingSteps:
    group_id, pace = call.request.group_id, Pace()
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []
    answers: dict[UUID, DeleteShareGroupOffsetsResponseTopic] = {}

    def told(code: ErrorCode) -> None:
        if code != ErrorCode.NONE:
            for answer in answers.values():
                answer.error_code, answer.error_message = code, code.text
        call.reply(DeleteShareGroupOffsetsResponse(responses=responses))

    try:
        with broker.groups.step(call.received_ms) as coordinator:
            group = coordinator.share(call.received_ms).empty_group(group_id)
        for topic in call.request.topics:
            responses.append(_of_topic(broker, group, topic.topic_name))
            if not responses[-1].error_code:
                answers[responses[-1].topic_id] = responses[-1]
            if pace.due():
                yield None
        now_ms = broker.clock.turn_ms
        with broker.groups.step(now_ms) as coordinator:
            coordinator.share(now_ms).delete_progress(group_id, list(answers), told)
    except GroupError as error:
        return DeleteShareGroupOffsetsResponse(
            error_code=error.code, error_message=error.message, responses=[]
        )
    return PARKED


def _of_topic(broker: Broker, group: ShareGroup, name: str) -> DeleteShareGroupOffsetsResponseTopic:
    topic = broker.catalogue.find(name)
    if topic is not None and topic.topic_id in group.initialized:
        return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic.topic_id)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    message = code.text if topic is None else "There is no offset information to delete."
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=ZERO_UUID, error_code=code, error_message=message
    )
