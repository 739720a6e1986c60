"""ShareGroupHeartbeat: what can be said of a request without changing the group."""

from __future__ import annotations

from groups.assignment import Assignment
from groups.errors import FencedMemberEpoch, InvalidRequest
from groups.share.group_records import ShareMember
from groups.share.sessions import MEMBER_ID_CHARS_MAX
from groups.share.share_group import JOINING_EPOCH, LEAVING_EPOCH, ShareGroup
from groups.sorted_names import sorted_names
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages import share_group_heartbeat as messages
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse


def refused(code: ErrorCode, message: str | None = None) -> ShareGroupHeartbeatResponse:
    """Return the answer to a heartbeat that is refused."""
    return ShareGroupHeartbeatResponse(
        error_code=code, error_message=message, member_epoch=0, heartbeat_interval_ms=0
    )


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """Check what can be checked without the group.

    Raises: InvalidRequest.
    """
    if not request.member_id.strip():
        raise InvalidRequest("MemberId can't be empty.")
    if len(request.member_id) > MEMBER_ID_CHARS_MAX:
        raise InvalidRequest(f"MemberId can't be longer than {MEMBER_ID_CHARS_MAX} characters.")
    if not request.group_id.strip():
        raise InvalidRequest("GroupId can't be empty.")
    if request.rack_id is not None and not request.rack_id.strip():
        raise InvalidRequest("RackId can't be empty.")
    if request.member_epoch == JOINING_EPOCH and not request.subscribed_topic_names:
        raise InvalidRequest("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVING_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")


def check_epoch(group: ShareGroup, member_id: str, epoch: int) -> None:
    """Check a heartbeat's epoch: the member's own, or the one before if its last answer may be lost.

    Raises: FencedMemberEpoch.
    """
    current = group.current_of(member_id)
    if epoch not in (JOINING_EPOCH, current.epoch, current.previous_epoch):
        raise FencedMemberEpoch(
            f"The share group member has a {'greater' if epoch > current.epoch else 'smaller'} member epoch "
            f"({epoch}) than the one known by the group coordinator ({current.epoch}). The member must "
            "abandon all its partitions and rejoin."
        )


def wanted_by(request: ShareGroupHeartbeatRequest, client: Client, known: ShareMember | None) -> ShareMember:
    """Return what the member wants after this request; null fields change nothing."""
    topics = () if known is None else known.topics
    rack_id = None if known is None else known.rack_id
    if request.subscribed_topic_names is not None:
        topics = sorted_names(request.subscribed_topic_names)
    if request.rack_id is not None:
        rack_id = request.rack_id
    return ShareMember(client.client_id, client.host, topics, rack_id)


def on_the_wire(assigned: Assignment) -> messages.Assignment:
    """Return an assignment as it is sent."""
    return messages.Assignment(
        topic_partitions=[
            messages.TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in assigned.items()
        ]
    )
