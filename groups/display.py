"""The state of the group coordinator, and what is shown of it: what groups/coordinator.py only reads.

Share groups are kept in a service of their own, which is imported with the first of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator
from typing import TYPE_CHECKING, Final

from groups import show
from groups.clients import ClientIndex
from groups.context import Context
from groups.fetchers import ById, Round, held, rounds
from groups.offset_changes import OffsetChanges, WatchedOffsets
from groups.offset_room import OffsetRoom
from groups.share.config import ShareGroupConfig
from groups.silent import remove_silent

if TYPE_CHECKING:
    from groups.record_keys import OffsetKey
    from groups.share.membership import DeleteOrder, InitOrder
    from groups.share.service import ShareService


SHARE_MODULE: Final = "groups.share.service"
"""What share groups are kept in."""


class Display:
    """All groups of this node, for those that read."""

    def __init__(self, context: Context, share_settings: Callable[[str], ShareGroupConfig]) -> None:
        self._context = context
        self._share_settings = share_settings
        # The share groups, once there are any.
        self._shares: tuple[ShareService, ...] = ()

    def _at(self, now_ms: int) -> Context:
        self._context.now_ms = now_ms
        return self._context

    # --- share groups ---------------------------------------------------------------------------------------

    def share(self, now_ms: int) -> ShareService:
        """Return the share groups, for one step."""
        context = self._at(now_ms)
        if not self._shares:
            from groups.share.service import ShareService

            self._shares = (ShareService(context, self._share_settings),)
        return self._shares[0]

    def take_share_orders(self) -> list[InitOrder | DeleteOrder]:
        """Return the states of share groups to make and to delete since the last call."""
        return [order for share in self._shares for order in share.take_orders()]

    @property
    def offset_room(self) -> OffsetRoom:
        """The memory of committed offsets."""
        return self._context.offset_room

    # --- changes of offsets ---------------------------------------------------------------------------------

    def watch_offsets(self) -> None:
        """Keep the order of changes of offsets from now on; to be called before there are any."""
        context = self._context
        assert not len(context.offsets), "changes of these offsets are unknown"
        context.offsets = WatchedOffsets(context.loading)
        context.offset_room = OffsetRoom(context.offsets, context.staged)

    @property
    def offset_changes(self) -> OffsetChanges:
        """The changes of the groups that are watched."""
        offsets = self._context.offsets
        assert isinstance(offsets, WatchedOffsets), "no changes are kept"
        return offsets.changes

    def offset_topics(self, group_id: str) -> list[str]:
        """Return the topics in which a group has offsets, or may come to have."""
        return self._context.offsets.newest_topics(group_id)

    def offset_partitions(self, group_id: str, topic: str) -> Iterator[int]:
        """Yield the partitions of a topic in which a group has offsets, or may come to have."""
        return self._context.offsets.each_partition(group_id, topic)

    def position(self, key: OffsetKey) -> int | None:
        """Return the durable offset of a group in one partition."""
        return self._context.offsets.position(key)

    # --- members, for what they fetch -----------------------------------------------------------------------

    @property
    def clients(self) -> ClientIndex:
        """The members of groups by client; another one after the topic was deleted."""
        return self._context.memory.clients

    def held(self, group_id: str, member_id: str) -> tuple[ById, ...] | bytes:
        """Return what a member has and what it gives up; of a classic member its encoded assignment."""
        return held(self._context, group_id, member_id)

    def rounds(self, group_ids: Collection[str]) -> Generator[None, None, tuple[Round, ...]]:
        """Return epoch or generation, and the number of members, of each of these groups that exists."""
        return rounds(self._context, group_ids)

    # --- all groups -----------------------------------------------------------------------------------------

    def group_ids(self) -> list[str]:
        """Return every group with something to show, sorted."""
        return show.group_ids(self._context)

    def consumers(self, now_ms: int, group_ids: Collection[str] | None = None) -> list[show.ConsumerRow]:
        """Return the rows of SHOW CONSUMERS, of all groups or of these."""
        chosen = self.group_ids() if group_ids is None else group_ids
        return list(show.consumers(self._at(now_ms), chosen))

    def subscriptions(
        self, now_ms: int, group_ids: Collection[str] | None = None
    ) -> Iterator[show.SubscriptionRow]:
        """Yield the rows of SHOW SUBSCRIPTIONS; the caller adds log ends and lag.

        Between two rows groups may change, or end.
        """
        chosen = self.group_ids() if group_ids is None else group_ids
        return show.subscriptions(self._at(now_ms), chosen)

    def progress(self, group_id: str, now_ms: int) -> Iterator[show.SubscriptionRow]:
        """Yield the same of one group without the partitions' owners."""
        return show.progress(self._at(now_ms), group_id)

    def remove_silent(self, group_id: str, member_ids: Collection[str], now_ms: int) -> None:
        """Remove members that have not polled for too long."""
        remove_silent(self._at(now_ms), group_id, member_ids)

    def topics_read(self, group_id: str) -> set[str]:
        """Return the topics that a group subscribes to or has committed offsets in."""
        return show.topics_read(self._context, group_id)

    def subscribers(self, topic: str) -> list[str]:
        """Return the groups with members that subscribe to a topic (TDengine refuses to drop it then)."""
        return show.subscribers(self._context, topic)

    def counts(self) -> Counter[str]:
        """Return the metrics: `rebalances` so far, offsets, members, and groups by kind and state."""
        found = show.counts(self._context)
        for share in self._shares:
            found.update(share.counts())
        return found
