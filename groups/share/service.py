"""Everything that may be asked of share groups: their part of the group coordinator.

The coordinator (groups/coordinator.py) makes it with the first share group, or the first question about one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from uuid import UUID

from groups.context import Context
from groups.describe import Steps
from groups.effects import EncodedRecord
from groups.share.beat import Reply
from groups.share.config import ShareGroupConfig
from groups.share.deletion import delete_progress, delete_share_group, empty_group, make_empty_group
from groups.share.describe import describe_share_groups, list_share_groups
from groups.share.loading import replay_share_record, share_snapshot
from groups.share.membership import DeleteOrder, InitOrder, ShareMembership
from groups.share.share_group import ShareGroup
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.list_groups import ListedGroup
from protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


class ShareService:
    """The share groups of a node."""

    def __init__(self, context: Context, config: Callable[[str], ShareGroupConfig]) -> None:
        """`config(group_id)` returns the settings of a group's members."""
        self.membership = ShareMembership(context, config)
        self._table = self.membership.table
        context.share_groups = self._table.groups

    # --- the coordinator's side -----------------------------------------------------------------------------

    def replay(self, partition: int, key: bytes | memoryview, value: bytes | memoryview | None) -> None:
        """Apply one stored record of a partition that is being loaded."""
        replay_share_record(self._table, partition, key, value)

    def loaded(self, group_ids: Iterable[str]) -> None:
        """Start the sessions of all members of these groups."""
        self.membership.loaded(group_ids)

    def unload(self, partitions: Collection[int]) -> None:
        """Forget the groups of these partitions."""
        self.membership.unload(partitions)

    def snapshot(self, partition: int) -> Iterator[list[EncodedRecord]]:
        """Yield the present state of a partition in lists, each to be appended before the next step."""
        return share_snapshot(self._table, partition)

    def topics_changed(self, names: Collection[str]) -> None:
        """Have groups that subscribe to these topics look at them again."""
        self.membership.topics_changed(names)

    def take_orders(self) -> list[InitOrder | DeleteOrder]:
        """Return the states to make and to delete since the last call."""
        return self.membership.take_orders()

    # --- requests -------------------------------------------------------------------------------------------

    def heartbeat(self, request: ShareGroupHeartbeatRequest, client: Client, reply: Reply) -> None:
        """Serve ShareGroupHeartbeat v1; the answer may wait until the group has its states."""
        self.membership.heartbeat(request, client, reply)

    def describe(self, request: ShareGroupDescribeRequest) -> Steps[ShareGroupDescribeResponse]:
        """Serve ShareGroupDescribe v1: return the steps that answer."""
        return describe_share_groups(self._table, request)

    def delete(self, group_id: str, done: Callable[[ErrorCode], None]) -> None:
        """Delete a group without members.  Raises: NonEmptyGroup."""
        delete_share_group(self.membership, group_id, done)

    def delete_progress(
        self, group_id: str, topic_ids: Collection[UUID], done: Callable[[ErrorCode], None]
    ) -> None:
        """Delete the states of a group without members in some topics.  Raises: GroupError."""
        delete_progress(self.membership, group_id, topic_ids, done)

    def check_loaded(self, group_id: str) -> None:
        """Check that a group's records have been replayed.  Raises: NotLoaded, CoordinatorNotAvailable."""
        self._table.context.check_loaded(group_id)

    def make_empty_group(self, group_id: str) -> None:
        """Make a group without members, unless there is one.

        Raises: InvalidGroupId, GroupNotFound for a group of another type, NonEmptyGroup, NotLoaded.
        """
        make_empty_group(self.membership, group_id)

    def empty_group(self, group_id: str) -> ShareGroup:
        """Return a group without members.

        Raises: InvalidGroupId, GroupNotFound, NonEmptyGroup, NotLoaded.
        """
        return empty_group(self.membership, group_id)

    # --- display --------------------------------------------------------------------------------------------

    @property
    def groups(self) -> dict[str, ShareGroup]:
        """All groups by id, for reading."""
        return self._table.groups

    def listed(self) -> Iterator[ListedGroup]:
        """Yield all groups as ListGroups shows them."""
        return list_share_groups(self._table)

    def counts(self) -> Counter[str]:
        """Count groups by state, and members."""
        found: Counter[str] = Counter()
        for group in self._table.groups.values():
            found[f"share:{group.state.value}"] += 1
            found["members"] += len(group.members)
        return found
