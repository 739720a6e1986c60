"""A heartbeat of a member of a share group, once the member is known: it follows the target, and is answered.

It may have to wait: for states of partitions, for a target that is being made, and, with very much to tell,
for a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groups.changes import nothing
from groups.share.config import ShareGroupConfig
from groups.share.following import Following
from groups.share.group_table import GroupChanges, ShareGroups
from groups.share.heartbeat import refused
from groups.share.share_group import JOINING_EPOCH, ShareGroup
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

OUTDATED_MAX: Final = 3
"""How often a thread works in vain for a heartbeat, as its group may always change."""

Reply = Callable[[ShareGroupHeartbeatResponse], None]


class ShareBeat:
    """A heartbeat whose member is known, and what is still to be done for it."""

    __slots__ = ("_answered", "_config", "_outdated", "_reply", "_request", "_table")

    def __init__(
        self,
        table: ShareGroups,
        config: Callable[[str], ShareGroupConfig],
        request: ShareGroupHeartbeatRequest,
        reply: Reply,
    ) -> None:
        self._table = table
        self._config = config
        self._request = request
        self._reply = reply
        self._answered = False
        self._outdated = 0

    def refuse(self, code: ErrorCode) -> None:
        """Answer with an error, unless there was an answer."""
        self._answer(refused(code))

    def _answer(self, response: ShareGroupHeartbeatResponse) -> None:
        if not self._answered:
            self._answered = True
            self._reply(response)

    def go_on(self) -> None:
        """Do the rest now that the states are there, or could not be made."""
        table, group_id = self._table, self._request.group_id
        group = table.groups.get(group_id)
        if self._answered:
            return
        if group is None or self._request.member_id not in group.members:
            self.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        if group.assigning is not None:
            group.assigning.append(self.go_on)
            return
        with GroupChanges(table, group_id) as changes:
            self.follow(changes, group)

    def follow(self, changes: GroupChanges, group: ShareGroup) -> None:
        """Bring the member to the target, and answer once that is stored."""
        tells = self._request.member_epoch == JOINING_EPOCH
        following = Following(changes.context, group, self._request.member_id, tells=tells)
        if following.is_large and self._outdated < OUTDATED_MAX:
            following.begin(self._followed)
            changes.commit(nothing, self.refuse)
            return
        following.work_out()
        self._take(changes, following)

    def _followed(self, following: Following, error: Exception | None) -> None:
        """Go on when a thread has done the most, or try again if that is out of date."""
        table = self._table
        if not following.is_current(table.groups):
            self._outdated += 1
            self.go_on()
        elif error is not None:
            self.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
            raise error
        elif not self._answered:
            with GroupChanges(table, self._request.group_id) as changes:
                self._take(changes, following)

    def _take(self, changes: GroupChanges, following: Following) -> None:
        group_id = self._request.group_id
        if following.current is not None:
            changes.put(following.key, following.current, following.encoded)
        response = ShareGroupHeartbeatResponse(
            member_id=self._request.member_id,
            member_epoch=following.epoch,
            heartbeat_interval_ms=self._config(group_id).group_share_heartbeat_interval_ms,
            assignment=following.wire,
        )
        changes.commit(lambda: self._answer(response), self.refuse)
