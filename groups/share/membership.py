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

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import filterfalse
from typing import Final, NamedTuple
from uuid import UUID

from groups.assignment_task import NAMES_AT_ONCE
from groups.changes import nobody, nothing
from groups.consumer_target import NOT_ASSIGNED_HERE, metadata_hash
from groups.context import Context
from groups.errors import GroupError, GroupFull, GroupNotFound, UnknownMember
from groups.record_keys import GroupEpoch
from groups.share.beat import Reply, ShareBeat
from groups.share.config import ShareGroupConfig
from groups.share.gates import holds_back
from groups.share.group_records import (
    InitializedTopic,
    ShareCurrentKey,
    ShareEpochKey,
    ShareMemberKey,
    ShareStatesKey,
    ShareTargetKey,
)
from groups.share.group_table import GroupChanges, ShareGroups
from groups.share.heartbeat import check_epoch, check_request, refused, wanted_by
from groups.share.looking import Look, needs_thread
from groups.share.noting import StatesNote, joined, missing_states
from groups.share.share_group import JOINING_EPOCH, LEAVING_EPOCH, ShareGroup
from groups.share.targets import assign_when_due
from groups.timers import TimerKey
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

STATES_AT_ONCE: Final = 500
"""The topics with states whose record is written without a thread, in 2 ms."""


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
        """Assign partitions whose states are durable, and answer the heartbeats that waited for them.

        Of very many a thread does the most, as `note` tells.
        """
        group = self._loaded(order.group_id, now_ms)
        if group is None:
            return
        known = self._context.topics.by_id
        ids = {topic_id for topic_id, _ in order.partitions}
        names = {topic_id: known[topic_id].name for topic_id in ids if topic_id in known}
        with GroupChanges(self.table, group.group_id) as changes:
            # If this is lost, the states are ordered again.
            changes.on_undo(group.make_stale)
            states = joined(self._kept(group), order.partitions, names)
            changes.put(ShareStatesKey(group.group_id), states)
            self._bump(changes, group)
            assign_when_due(self.table, changes, group)
            changes.commit(nothing, nobody)
        # Members may have asked for other topics meanwhile.
        group.make_stale()
        self.go_on(group)

    def has_many_states(self, group_id: str) -> bool:
        """Whether a thread must write the record of the group's states."""
        group = self.table.groups.get(group_id)
        return group is not None and len(group.initialized) > STATES_AT_ONCE

    def note(self, order: InitOrder, names: Mapping[UUID, str], now_ms: int) -> StatesNote | None:
        """Begin to note states that are durable, in topics of these names; see noting.py.

        None: there is no such group any more.
        """
        group = self._loaded(order.group_id, now_ms)
        return None if group is None else StatesNote(group, order.partitions, names)

    def noted(self, note: StatesNote, now_ms: int) -> bool:
        """Store a note that is prepared; False: it is out of date."""
        group = self._loaded(note.group.group_id, now_ms)
        if group is None:
            return True
        if group is not note.group or group.initialized is not note.base:
            return False
        with GroupChanges(self.table, group.group_id) as changes:
            changes.on_undo(group.make_stale)
            changes.put(ShareStatesKey(group.group_id), note.states, note.encoded)
            self._bump(changes, group)
            changes.commit(nothing, nobody)
        return True

    def states_noted(self, group_id: str, now_ms: int) -> None:
        """Assign the partitions of a note, and answer the heartbeats that waited for it."""
        group = self._loaded(group_id, now_ms)
        if group is None:
            return
        with GroupChanges(self.table, group_id) as changes:
            if group.epoch != group.target_epoch:
                assign_when_due(self.table, changes, group)
            changes.commit(nothing, nobody)
        # Members may have asked for other topics meanwhile, and topics may have been deleted.
        group.make_stale()
        self.go_on(group)

    def not_initialized(self, order: InitOrder, now_ms: int) -> None:
        """Answer the heartbeats that waited for states; the next one orders them again."""
        group = self._loaded(order.group_id, now_ms)
        if group is not None:
            group.make_stale()
            self.go_on(group)

    def _loaded(self, group_id: str, now_ms: int) -> ShareGroup | None:
        """Return a group, unless it was unloaded since its order, and may be on its way back."""
        self._context.now_ms = now_ms
        is_loaded = self._context.partition(group_id) in self._context.loaded
        return self.table.groups.get(group_id) if is_loaded else None

    def go_on(self, group: ShareGroup) -> None:
        """Let the heartbeats that wait in a group go on."""
        waiting, group.waiting = group.waiting or [], None
        for go_on in waiting:
            go_on()

    def topics_changed(self, names: Collection[str]) -> None:
        """Have the groups that subscribe to these topics look at them again at their next heartbeat."""
        for group in self.table.groups.values():
            if not group.names.keys().isdisjoint(names):
                group.make_stale()

    def loaded(self, group_ids: Iterable[str]) -> None:
        """Start the sessions of all members of these groups: their records have been replayed.

        A group that is not served keeps its members until it is deleted: they cannot tell that they live.
        """
        for group_id in group_ids:
            if group_id not in self._context.quarantined:
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
                self.go_on(group)

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
            beat = ShareBeat(self.table, self.config, request, reply)
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
        if needs_thread(self._context, group):
            if group.waiting is None:
                group.is_stale = False
                changes.on_undo(group.make_stale)
                group.waiting = []
                Look(self._context, group).begin(self._looked)
            return
        group.is_stale = False
        changes.on_undo(group.make_stale)
        states = self._kept(group)
        if len(states) < len(group.initialized):
            changes.put(ShareStatesKey(group.group_id), states or None)
        if not is_counted and metadata_hash(self._context, frozenset(group.names)) != group.metadata_hash:
            self._bump(changes, group)
            assign_when_due(self.table, changes, group)
        missing = tuple(missing_states(self._context, group))
        if missing and group.waiting is None:
            group.waiting = []
            self.orders.append(InitOrder(group.group_id, missing))

    def _looked(self, look: Look, error: Exception | None) -> None:
        """Act on what a thread has found of very many topics; the heartbeats wait until then."""
        group = look.group
        if self.table.groups.get(group.group_id) is not group or error is not None:
            group.make_stale()
            self.go_on(group)
            if error is not None:
                raise error
            return
        with GroupChanges(self.table, group.group_id) as changes:
            changes.on_undo(group.make_stale)
            if look.encoded is not None and group.initialized is look.base:
                changes.put(ShareStatesKey(group.group_id), look.kept, look.encoded)
            if not self._is_up_to_date(group, look.metadata_hash):
                self._bump(changes, group)
                assign_when_due(self.table, changes, group)
            changes.commit(nothing, nobody)
        if look.missing:
            self.orders.append(InitOrder(group.group_id, look.missing))
        else:
            self.go_on(group)

    def _is_up_to_date(self, group: ShareGroup, found: int) -> bool:
        """Whether the group's very many topics, with this hash, are those of its epoch."""
        if group.metadata_hash != NOT_ASSIGNED_HERE or not group.initialized:
            # Without states there is nothing to assign; when they come, they count a change.
            return found == group.metadata_hash or not group.initialized
        if group.assigning is not None:
            # A thread has looked at them, perhaps before a change: the next heartbeat compares.
            group.is_stale = True
        return group.epoch != group.target_epoch

    def _bump(self, changes: GroupChanges, group: ShareGroup) -> None:
        """Count a change."""
        found = NOT_ASSIGNED_HERE
        if len(group.names) <= NAMES_AT_ONCE:
            found = metadata_hash(self._context, frozenset(group.names))
        changes.put(ShareEpochKey(group.group_id), GroupEpoch(group.epoch + 1, found))

    def _kept(self, group: ShareGroup) -> dict[UUID, InitializedTopic]:
        """Return the states of a group but for those in topics that were deleted."""
        kept = dict(group.initialized)
        for topic_id in list(filterfalse(self._context.topics.by_id.__contains__, kept)):
            del kept[topic_id]
        return kept


def _to_nobody(_: ShareGroupHeartbeatResponse) -> None:
    """Send no answer: the server removed the member on its own."""
