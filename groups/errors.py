"""The reasons to refuse a group request: one class per answer, each with its Kafka code.

GroupError(code)
    InvalidGroupId 24   InvalidRequest 42   UnsupportedVersion 35            the request itself is wrong
    NotLoaded 14   CoordinatorNotAvailable 15   NotCoordinator 16            try again
    GroupNotFound 69   NonEmptyGroup 68   GroupFull 81   SubscribedToTopic 86
    UnknownMember 25   FencedInstance 82   UnreleasedInstance 111            wrong member
    IllegalGeneration 22   FencedMemberEpoch 110   StaleMemberEpoch 113      wrong time
    RebalanceInProgress 27   InconsistentProtocol 23   InvalidSessionTimeout 26
    UnsupportedAssignor 112   InvalidRegularExpression 128                   wrong content
    InvalidRecordState 121   ShareSessionNotFound 122   InvalidShareSessionEpoch 123
    ShareSessionLimitReached 133                                             wrong record or share session

The message is for people: ConsumerGroupHeartbeat and the describing APIs pass it on.
"""

from __future__ import annotations

from typing import ClassVar

from protocol.error_codes import ErrorCode, cut_message


class GroupError(Exception):
    """A request, or one item of it, is refused."""

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str | None = None) -> None:
        super().__init__(cut_message(message) if message else self.code.text)

    @property
    def message(self) -> str:
        """The reason in words."""
        return str(self.args[0])


class InvalidGroupId(GroupError):
    """The group id is empty where that is not allowed."""

    code = ErrorCode.INVALID_GROUP_ID


class InvalidRequest(GroupError):
    """The fields of the request contradict each other."""

    code = ErrorCode.INVALID_REQUEST


class UnsupportedVersion(GroupError):
    """A member of the new protocol used a request that cannot carry its epoch."""

    code = ErrorCode.UNSUPPORTED_VERSION


class NotLoaded(GroupError):
    """The partition of __consumer_offsets that holds the group is still being read."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class CoordinatorNotAvailable(GroupError):
    """The group's state could not be stored, or the group is going away."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


class NotCoordinator(GroupError):
    """Another node coordinates the group, or it was unloaded while the request waited."""

    code = ErrorCode.NOT_COORDINATOR


class GroupNotFound(GroupError):
    """There is no such group, or none of the type that the request is for."""

    code = ErrorCode.GROUP_ID_NOT_FOUND


class NonEmptyGroup(GroupError):
    """The group has members."""

    code = ErrorCode.NON_EMPTY_GROUP


class GroupFull(GroupError):
    """The group has as many members as it may have."""

    code = ErrorCode.GROUP_MAX_SIZE_REACHED


class SubscribedToTopic(GroupError):
    """The group is subscribed to the topic whose offsets are to be deleted."""

    code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


class UnknownMember(GroupError):
    """The group has no such member, or has it no longer."""

    code = ErrorCode.UNKNOWN_MEMBER_ID


class FencedInstance(GroupError):
    """Another member has taken over the instance id."""

    code = ErrorCode.FENCED_INSTANCE_ID


class UnreleasedInstance(GroupError):
    """The instance id is held by a member that has not left."""

    code = ErrorCode.UNRELEASED_INSTANCE_ID


class IllegalGeneration(GroupError):
    """The request belongs to another generation of the group."""

    code = ErrorCode.ILLEGAL_GENERATION


class FencedMemberEpoch(GroupError):
    """The member's epoch is not the group's: it must give up everything and join again."""

    code = ErrorCode.FENCED_MEMBER_EPOCH


class StaleMemberEpoch(GroupError):
    """The epoch in a commit or fetch of offsets is not the member's."""

    code = ErrorCode.STALE_MEMBER_EPOCH


class RebalanceInProgress(GroupError):
    """The member has to join again."""

    code = ErrorCode.REBALANCE_IN_PROGRESS


class InconsistentProtocol(GroupError):
    """The member's protocols do not fit those of the group."""

    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class InvalidRecordState(GroupError):
    """The member does not have the record that it acknowledges."""

    code = ErrorCode.INVALID_RECORD_STATE


class ShareSessionNotFound(GroupError):
    """The member has no share session on this connection."""

    code = ErrorCode.SHARE_SESSION_NOT_FOUND


class InvalidShareSessionEpoch(GroupError):
    """The epoch is not the next one of the share session."""

    code = ErrorCode.INVALID_SHARE_SESSION_EPOCH


class ShareSessionLimitReached(GroupError):
    """There is no room for another share session."""

    code = ErrorCode.SHARE_SESSION_LIMIT_REACHED


class InvalidSessionTimeout(GroupError):
    """The session timeout is outside what the broker allows."""

    code = ErrorCode.INVALID_SESSION_TIMEOUT


class UnsupportedAssignor(GroupError):
    """The server has no assignor of that name."""

    code = ErrorCode.UNSUPPORTED_ASSIGNOR


class InvalidRegularExpression(GroupError):
    """The subscription is not a valid regular expression of RE2."""

    code = ErrorCode.INVALID_REGULAR_EXPRESSION


def append_error(error: ErrorCode) -> ErrorCode:
    """Return the error for a client whose records could not be appended because of `error`.

    Everything a retry can fix becomes COORDINATOR_NOT_AVAILABLE, on which every client looks the coordinator
    up again and repeats the request; KAFKA_STORAGE_ERROR means nothing to them here.
    Source: Kafka 4.3, GroupMetadataManager.appendGroupMetadataErrorToResponseError.
    """
    if error in _TOO_LARGE:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.COORDINATOR_NOT_AVAILABLE


_TOO_LARGE = frozenset(
    {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE}
)
