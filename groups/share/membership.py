"""Members of share groups: join, stay, leave (KIP-932), and the assignment of partitions to them.

One heartbeat: find or make the group and the member, store what changed, count that as a new group epoch,
compute the target, bring the member to it, restart its session. Its records are one batch.

A partition is assigned once the group has a state in it, which fixes where the group begins to read. So the
first heartbeat that needs a partition orders that state, and is answered when it is there:

    for order in membership.take_orders():        make a state for each of its partitions
        all are durable:                          membership.initialized(order, now_ms)
        one of them could not be stored:          membership.not_initialized(order, now_ms)

Source: KIP-932; Kafka 4.3's GroupMetadataManager.shareGroupHeartbeat.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import filterfalse
from typing import NamedTuple
from uuid import UUID

from groups.assignment import NOTHING
from groups.changes import nobody, nothing
from groups.consumer_target import metadata_hash
from groups.context import Context
from groups.errors import GroupError, GroupFull, GroupNotFound, UnknownMember
from groups.record_keys import GroupEpoch
from groups.share.config import ShareGroupConfig
from groups.share.gates import holds_back, share_withheld
from groups.share.group_records import (
    InitializedTopic,
    ShareCurrent,
    ShareCurrentKey,
    ShareEpochKey,
    ShareMemberKey,
    ShareStatesKey,
    ShareTargetKey,
)
from groups.share.group_table import GroupChanges, ShareGroups
from groups.share.heartbeat import check_epoch, check_request, on_the_wire, refused, wanted_by
from groups.share.share_group import JOINING_EPOCH, LEAVING_EPOCH, ShareGroup
from groups.share.targets import assign_when_due
from groups.timers import TimerKey
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

Reply = Callable[[ShareGroupHeartbeatResponse], None]


class InitOrder(NamedTuple):
    """Partitions in which a group needs a state."""

    group_id: str
    partitions: tuple[tuple[UUID, int], ...]


class DeleteOrder(NamedTuple):
    """States of a group to delete, which is not to have any in these topics; None: in all topics."""

    group_id: str
    topic_ids: tuple[UUID, ...] | None
    done: Callable[[ErrorCode], None]
    """To be called when the states are deleted, durably, or with the reason why they are not."""


class ShareMembership:
    """The members of all share groups."""

    def __init__(self, context: Context, config: Callable[[str], ShareGroupConfig]) -> None:
        """`config(group_id)` returns the settings of a group's members, at every use."""
        self.config = config
        self.table = ShareGroups(context, self._interval_ms)
        self._context = context
        self.orders: list[InitOrder | DeleteOrder] = []

    def _interval_ms(self, group_id: str) -> int:
        return self.config(group_id).group_share_assignment_interval_ms

    # --- the driver's side ----------------------------------------------------------------------------------

    def take_orders(self) -> list[InitOrder | DeleteOrder]:
        """Return the states to make, and to delete, since the last call; see the top of this file."""
        orders, self.orders = self.orders, []
        return orders

    def initialized(self, order: InitOrder, now_ms: int) -> None:
        """Assign partitions whose states are durable, and answer the heartbeats that waited for them."""
        group = self._loaded(order.group_id, now_ms)
        if group is None:
            return
        made: dict[UUID, set[int]] = {}
        for topic_id, partition in order.partitions:
            made.setdefault(topic_id, set()).add(partition)
        known = self._context.topics.by_id
        states = self._kept(group)
        for topic_id, partitions in made.items():
            # Each look-up of an id runs a function of Python.
            topic = known.get(topic_id)
            if topic is not None:
                before = states.get(topic_id)
                both = partitions if before is None else partitions | before.partitions
                states[topic_id] = InitializedTopic(topic.name, frozenset(both))
        with GroupChanges(self.table, group.group_id) as changes:
            # If this is lost, the states are ordered again.
            changes.on_undo(group.make_stale)
            changes.put(ShareStatesKey(group.group_id), states)
            self._bump(changes, group)
            assign_when_due(self.table, changes, group)
            changes.commit(nothing, nobody)
        # Members may have asked for other topics meanwhile.
        group.make_stale()
        self._go_on(group)

    def not_initialized(self, order: InitOrder, now_ms: int) -> None:
        """Answer the heartbeats that waited for states; the next one orders them again."""
        group = self._loaded(order.group_id, now_ms)
        if group is not None:
            group.make_stale()
            self._go_on(group)

    def _loaded(self, group_id: str, now_ms: int) -> ShareGroup | None:
        """Return a group, unless it was unloaded since its order, and may be on its way back."""
        self._context.now_ms = now_ms
        is_loaded = self._context.partition(group_id) in self._context.loaded
        return self.table.groups.get(group_id) if is_loaded else None

    def _go_on(self, group: ShareGroup) -> None:
        waiting, group.waiting = group.waiting or [], None
        for go_on in waiting:
            go_on()

    def topics_changed(self, names: Collection[str]) -> None:
        """Have the groups that subscribe to these topics look at them again at their next heartbeat."""
        for group in self.table.groups.values():
            if not group.names.keys().isdisjoint(names):
                group.make_stale()

    def loaded(self, partitions: Collection[int]) -> None:
        """Start the sessions of all members in these partitions: they have been replayed."""
        for group_id in self.table.groups:
            if self._context.partition(group_id) in partitions:
                self._arm(group_id)

    def _arm(self, group_id: str) -> None:
        """Start the sessions of members that have none."""
        group = self.table.groups.get(group_id)
        for member_id in group.members if group is not None else ():
            if TimerKey("share", group_id, member_id) not in self._context.timers:
                self._start_session(group_id, member_id)

    def unload(self, partitions: Collection[int]) -> None:
        """Forget the groups of these partitions, and refuse the heartbeats that wait in them."""
        for group in [*self.table.groups.values()]:
            if self._context.partition(group.group_id) in partitions:
                del self.table.groups[group.group_id]
                self._context.memory.forget(group.group_id)
                for member_id in group.members:
                    self._context.timers.cancel(TimerKey("share", group.group_id, member_id))
                self._go_on(group)

    # --- heartbeats -----------------------------------------------------------------------------------------

    def heartbeat(self, request: ShareGroupHeartbeatRequest, client: Client, reply: Reply) -> None:
        """Serve ShareGroupHeartbeat v1."""
        try:
            check_request(request)
            self._context.check_loaded(request.group_id)
            if request.member_epoch == LEAVING_EPOCH:
                self._leave(request, reply)
            else:
                self._beat(request, client, reply)
        except GroupError as error:
            reply(refused(error.code, error.message))

    def _beat(self, request: ShareGroupHeartbeatRequest, client: Client, reply: Reply) -> None:
        group_id, member_id = request.group_id, request.member_id
        joins = request.member_epoch == JOINING_EPOCH
        group = self._group(group_id, joins=joins)
        known = group.members.get(member_id)
        if known is None and not joins:
            raise UnknownMember(f"Member {member_id} is not a member of group {group_id}.")
        if known is None and len(group.members) >= (size_max := self.config(group_id).group_share_max_size):
            raise GroupFull(f"The share group has reached its maximum capacity of {size_max} members.")
        check_epoch(group, member_id, request.member_epoch)
        wanted = wanted_by(request, client, known)
        with GroupChanges(self.table, group_id) as changes:
            if wanted != known:
                key = ShareMemberKey(group_id, member_id)
                self.table.check_room(key, wanted)
                changes.put(key, wanted)
                group = self.table.groups[group_id]
            subscribes = known is None or known.topics != wanted.topics
            if subscribes:
                group.is_stale = True
                self._bump(changes, group)
                assign_when_due(self.table, changes, group)
            elif group.epoch != group.target_epoch:
                # It waits for the end of the interval, or a crash came before that.
                assign_when_due(self.table, changes, group)
            if group.is_stale or holds_back(self._context, group):
                self._refresh(changes, group, is_counted=subscribes)
            beat = _Beat(self, request, reply)
            self._start_session(group_id, member_id)
            holder = group.assigning if group.waiting is None else group.waiting
            if holder is not None:
                holder.append(beat.go_on)
                changes.commit(nothing, beat.refuse)
            else:
                beat.follow(changes, group)

    def _group(self, group_id: str, *, joins: bool) -> ShareGroup:
        """Return a group, an empty one if a member may make it.

        Raises: GroupNotFound; also if the id belongs to a group of another kind.
        """
        if self._context.exists(group_id):
            raise GroupNotFound(f"Group {group_id} is not a share group.")
        group = self.table.groups.get(group_id)
        if group is not None:
            return group
        if not joins:
            raise GroupNotFound(f"Share group {group_id} not found.")
        return ShareGroup(group_id)

    def _leave(self, request: ShareGroupHeartbeatRequest, reply: Reply) -> None:
        group = self._group(request.group_id, joins=False)
        if request.member_id not in group.members:
            raise UnknownMember(f"Member {request.member_id} is not a member of group {group.group_id}.")
        response = ShareGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=LEAVING_EPOCH, heartbeat_interval_ms=0
        )
        with GroupChanges(self.table, group.group_id) as changes:
            self._remove(changes, group, request.member_id)
            changes.commit(lambda: reply(response), lambda code: self._stay(group.group_id, code, reply))

    def _stay(self, group_id: str, code: ErrorCode, reply: Reply) -> None:
        """Refuse what was lost: the member is there again, and needs its session."""
        if self._context.partition(group_id) in self._context.loaded:
            self._arm(group_id)
        reply(refused(code))

    def _remove(self, changes: GroupChanges, group: ShareGroup, member_id: str) -> None:
        group_id = group.group_id
        self._context.timers.cancel(TimerKey("share", group_id, member_id))
        changes.put(ShareCurrentKey(group_id, member_id), None)
        changes.put(ShareTargetKey(group_id, member_id), None)
        changes.put(ShareMemberKey(group_id, member_id), None)
        self._bump(changes, group)
        assign_when_due(self.table, changes, group)

    # --- sessions -------------------------------------------------------------------------------------------

    def _start_session(self, group_id: str, member_id: str) -> None:
        deadline_ms = self._context.now_ms + self.config(group_id).group_share_session_timeout_ms
        key = TimerKey("share", group_id, member_id)
        self._context.timers.set(key, deadline_ms, lambda now_ms: self._expire(group_id, member_id, now_ms))

    def beats(self, group_id: str) -> dict[str, int]:
        """Return the moment of each member's last heartbeat; after a start, not before that."""
        timeout_ms = self.config(group_id).group_share_session_timeout_ms
        group = self.table.groups.get(group_id)
        found: dict[str, int] = {}
        for member_id in () if group is None else group.members:
            deadline_ms = self._context.timers.deadline(TimerKey("share", group_id, member_id))
            if deadline_ms is not None:
                found[member_id] = deadline_ms - timeout_ms
        return found

    def _expire(self, group_id: str, member_id: str, now_ms: int) -> None:
        self._context.now_ms = now_ms
        group = self.table.groups.get(group_id)
        if group is not None and member_id in group.members:
            with GroupChanges(self.table, group_id) as changes:
                self._remove(changes, group, member_id)
                changes.commit(nothing, lambda code: self._stay(group_id, code, _to_nobody))

    # --- assignment -----------------------------------------------------------------------------------------

    def _refresh(self, changes: GroupChanges, group: ShareGroup, *, is_counted: bool) -> None:
        """Look at the topics of a group: count a change if they have changed, and order missing states.

        `is_counted`: a change was counted in this step, with the topics as they are.
        """
        group.is_stale = False
        changes.on_undo(group.make_stale)
        states = self._kept(group)
        if len(states) < len(group.initialized):
            changes.put(ShareStatesKey(group.group_id), states or None)
        if not is_counted and metadata_hash(self._context, frozenset(group.names)) != group.metadata_hash:
            self._bump(changes, group)
            assign_when_due(self.table, changes, group)
        missing = tuple(self._missing(group))
        if missing and group.waiting is None:
            group.waiting = []
            self.orders.append(InitOrder(group.group_id, missing))

    def _bump(self, changes: GroupChanges, group: ShareGroup) -> None:
        """Count a change."""
        found = metadata_hash(self._context, frozenset(group.names))
        changes.put(ShareEpochKey(group.group_id), GroupEpoch(group.epoch + 1, found))

    def _kept(self, group: ShareGroup) -> dict[UUID, InitializedTopic]:
        """Return the states of a group but for those in topics that were deleted."""
        kept = dict(group.initialized)
        for topic_id in list(filterfalse(self._context.topics.by_id.__contains__, kept)):
            del kept[topic_id]
        return kept

    def _missing(self, group: ShareGroup) -> Iterator[tuple[UUID, int]]:
        known = self._context.topics.by_name
        # Without a line of Python for names of no topics: a member may have 20,000.
        for name in filter(known.__contains__, group.names):
            topic = known[name]
            held_back = share_withheld(self._context, group, name, topic.topic_id)
            state = group.initialized.get(topic.topic_id)
            there = held_back if state is None else held_back | state.partitions
            if len(there) < topic.partition_count or not there.issuperset(range(topic.partition_count)):
                for partition in range(topic.partition_count):
                    if partition not in there:
                        yield topic.topic_id, partition


class _Beat:
    """A heartbeat whose member is known, and what is still to be done for it."""

    __slots__ = ("_answered", "_membership", "_reply", "_request")

    def __init__(
        self, membership: ShareMembership, request: ShareGroupHeartbeatRequest, reply: Reply
    ) -> None:
        self._membership = membership
        self._request = request
        self._reply = reply
        self._answered = False

    def refuse(self, code: ErrorCode) -> None:
        """Answer with an error, unless there was an answer."""
        self._answer(refused(code))

    def _answer(self, response: ShareGroupHeartbeatResponse) -> None:
        if not self._answered:
            self._answered = True
            self._reply(response)

    def go_on(self) -> None:
        """Do the rest now that the states are there, or could not be made."""
        table, group_id = self._membership.table, self._request.group_id
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
        member_id = self._request.member_id
        before = group.current_of(member_id)
        target = group.target.get(member_id, NOTHING)
        if before.epoch != group.target_epoch or before.assigned != target:
            current = ShareCurrent(group.target_epoch, before.epoch, target)
            changes.put(ShareCurrentKey(group.group_id, member_id), current)
        response = ShareGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=group.current_of(member_id).epoch,
            heartbeat_interval_ms=self._membership.config(group.group_id).group_share_heartbeat_interval_ms,
        )
        if self._request.member_epoch == JOINING_EPOCH or before.assigned != target:
            response.assignment = on_the_wire(target)
        changes.commit(lambda: self._answer(response), self.refuse)


def _to_nobody(_: ShareGroupHeartbeatResponse) -> None:
    """Send no answer: the server removed the member on its own."""
