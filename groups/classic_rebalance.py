"""The way of a classic group from one generation to the next.

    prepare --all have joined, or deadline--> complete --leader's SyncGroup--> store --durable--> spread

`prepare` is called for every change of the members. An empty group first waits
`group.initial.rebalance.delay.ms` for more members, and again as long as some come. Members that do not join
within the longest rebalance timeout are dropped; static ones stay until their session ends.
Source: KIP-134 (initial delay), KIP-345 (static members); Kafka 4.3's GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from groups.changes import Changes, nobody
from groups.classic_answers import assigned, joined, leads
from groups.classic_assignment import assign_on_server, have_room, in_thread, server_assigns
from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember, SyncReply, sync_refused
from groups.classic_removal import note_lost, remove_member
from groups.context import Context
from groups.effects import EncodedRecord
from groups.record_keys import ClassicGroupKey
from groups.record_schemas import GroupMetadataValue
from groups.records import encode_record
from groups.states import Event, GroupState
from groups.timers import TimerKey
from groups.weights import count_member
from protocol.error_codes import ErrorCode

DROPPED_AT_ONCE: Final = 50
"""Members that are dropped without a pause, about 1 ms."""

TOLD_AT_ONCE: Final = 100
"""Members that are told a generation without a pause, 2 ms."""

ENCODED_AT_ONCE: Final = 200
"""Members whose assignments are encoded on the spot, in 1 ms; those of more are encoded in a thread."""

LISTED_AT_ONCE: Final = 1_000
"""Members that are listed for their leader on the spot, in 2 ms."""

RESERVE_AGAIN_MS = 1_000
"""The delay before another try if the number of a generation could not be stored."""


# --- sessions -----------------------------------------------------------------------------------------------


def start_session(
    context: Context, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None
) -> None:
    """Restart a member's session."""
    keep_pending(
        context,
        group,
        member.member_id,
        member.session_timeout_ms if timeout_ms is None else timeout_ms,
    )


def keep_pending(context: Context, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
    """Keep a member, or an id that was given out, for the timeout."""
    group_id = group.group_id
    context.timers.set(
        TimerKey("heartbeat", group_id, member_id),
        context.now_ms + timeout_ms,
        lambda now_ms: _expire(context, group_id, member_id, now_ms),
    )


def _expire(context: Context, group_id: str, member_id: str, now_ms: int) -> None:
    context.now_ms = now_ms
    group = context.classic(group_id)
    if group is None:
        return
    if member_id in group.pending:
        group.pending.discard(member_id)
        context.memory.count(group_id, member_id, "", 0)
        complete_if_gathered(context, group)
        return
    member = group.members.get(member_id)
    # A member that waits for an answer sends no heartbeats. A new one is lost all the same: its client does
    # not know its id and comes back under another one.
    if member is not None and (member.is_new or not member.waits):
        note_lost(context, group, member, "its session timed out")
        remove_member(context, group, member)
        after_removal(context, group)


def arm(context: Context, group: ClassicGroup) -> None:
    """Set the timers that the group lacks, after loading or after a failed append."""
    for member in group.members.values():
        if TimerKey("heartbeat", group.group_id, member.member_id) not in context.timers:
            start_session(context, group, member)
    if group.state == GroupState.PREPARING_REBALANCE:
        if TimerKey("gather", group.group_id) not in context.timers:
            _complete_after(context, group, group.rebalance_timeout_ms)
    elif group.unsynced and TimerKey("sync", group.group_id) not in context.timers:
        _expect_syncs(context, group)


def after_removal(context: Context, group: ClassicGroup) -> None:
    """Let the others gather after members were removed, or wait for those no longer."""
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        prepare(context, group)
    else:
        complete_if_gathered(context, group)


# --- gathering ----------------------------------------------------------------------------------------------


def prepare_or_complete(context: Context, group: ClassicGroup) -> None:
    """Begin a rebalance, or end the gathering if the member that joined or changed was the last one."""
    if group.state == GroupState.PREPARING_REBALANCE:
        complete_if_gathered(context, group)
    else:
        prepare(context, group)


def prepare(context: Context, group: ClassicGroup) -> None:
    """Begin a rebalance: let all members gather."""
    if group.state == GroupState.COMPLETING_REBALANCE:
        spread(context, group, {}, ErrorCode.REBALANCE_IN_PROGRESS)
    group.unsynced.clear()
    context.timers.cancel(TimerKey("sync", group.group_id))
    group.was_empty = group.state == GroupState.EMPTY
    group.more_have_joined = False
    group.move(Event.REBALANCE, context.wall_ms)
    context.counts["rebalances"] += 1
    if group.was_empty:
        delay_ms = context.config.group_initial_rebalance_delay_ms
        _wait_for_more(context, group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
    elif group.all_have_joined:
        complete(context, group)
    else:
        _complete_after(context, group, group.rebalance_timeout_ms)


def complete_if_gathered(context: Context, group: ClassicGroup) -> None:
    """End the gathering if no member is missing; the first one of an empty group has its own delay."""
    if group.state == GroupState.PREPARING_REBALANCE and not group.was_empty and group.all_have_joined:
        complete(context, group)


def _wait_for_more(context: Context, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
    """Wait for more members of a group that was empty, in steps, as long as each step brings some."""
    group_id = group.group_id

    def look(now_ms: int) -> None:
        context.now_ms = now_ms
        if context.classic(group_id) is not group:
            return
        if not group.more_have_joined or not remaining_ms:
            complete(context, group)
            return
        group.more_have_joined = False
        next_ms = min(context.config.group_initial_rebalance_delay_ms, remaining_ms)
        _wait_for_more(context, group, next_ms, max(remaining_ms - delay_ms, 0))

    context.timers.set(TimerKey("gather", group_id), context.now_ms + delay_ms, look)
    if delay_ms == 0:
        context.timers.cancel(TimerKey("gather", group_id))
        complete(context, group)


def _complete_after(context: Context, group: ClassicGroup, timeout_ms: int) -> None:
    group_id = group.group_id

    def end(now_ms: int) -> None:
        context.now_ms = now_ms
        if context.classic(group_id) is group:
            complete(context, group)

    context.timers.set(TimerKey("gather", group_id), context.now_ms + timeout_ms, end)


def complete(context: Context, group: ClassicGroup) -> None:
    """End the gathering: drop members that did not join, tell the others the new generation."""
    context.timers.cancel(TimerKey("gather", group.group_id))
    absent = [
        member for member in group.members.values() if member.join is None and member.instance_id is None
    ]
    for member in absent[:DROPPED_AT_ONCE]:
        note_lost(context, group, member, "it did not join again within the rebalance timeout")
        remove_member(context, group, member)
    if len(absent) > DROPPED_AT_ONCE:
        _complete_after(context, group, 1)
        return
    if group.members and not group.elect_leader():
        # Only static members remain, and they are away: their sessions will decide.
        _complete_after(context, group, group.rebalance_timeout_ms)
        return
    if group.must_reserve:
        _reserve(context, group)
        return
    group.begin_generation()
    if not group.members:
        group.move(Event.DESERTED, context.wall_ms)
        store(context, group, group.record())
        return
    group.server_assigned = server_assigns(context, group)
    group.move(Event.GATHERED, context.wall_ms)
    members, wall_ms = list(group.members.values()), context.wall_ms
    group.unsynced.update(group.members)
    for member in members:
        member.is_new = False
        member.activity.rebalanced_ms = wall_ms
    _tell_generation(context, group, iter(members), group.generation)
    _expect_syncs(context, group)
    if group.server_assigned:
        assign_on_server(context, group, partial(store_assignment, context, group))


def _tell_generation(
    context: Context, group: ClassicGroup, members: Iterator[ClassicMember], generation: int
) -> None:
    """Answer some of the members that have joined, the rest soon."""
    if context.classic(group.group_id) is not group or group.generation != generation:
        return
    if group.state == GroupState.PREPARING_REBALANCE:
        return  # they are part of the next generation, whose members are told again
    some = list(islice(members, TOLD_AT_ONCE))
    for member in some:
        if group.members.get(member.member_id) is member:
            start_session(context, group, member)
            if leads(group, member) and len(group.members) > LISTED_AT_ONCE:
                in_thread(context, group, "listed", partial(joined, group, member), member.answer_join)
            else:
                member.answer_join(joined(group, member))
    if len(some) < TOLD_AT_ONCE:
        return

    def go_on(now_ms: int) -> None:
        context.now_ms = now_ms
        _tell_generation(context, group, members, generation)

    context.timers.set(TimerKey("tell", group.group_id), context.now_ms + 1, go_on)


def _reserve(context: Context, group: ClassicGroup) -> None:
    """Store the next generation's number, then complete with those that have joined, unless it is deleted."""
    number = group.next_generation

    def reserved() -> None:
        group.stored_generation = number
        if context.classic(group.group_id) is group and group.state == GroupState.PREPARING_REBALANCE:
            complete(context, group)

    def failed(_: ErrorCode) -> None:
        if context.classic(group.group_id) is group and group.state == GroupState.PREPARING_REBALANCE:
            _complete_after(context, group, RESERVE_AGAIN_MS)

    with Changes(context, group.group_id) as changes:
        changes.write(ClassicGroupKey(group.group_id), group.reservation())
        changes.commit(reserved, failed)


def store(context: Context, group: ClassicGroup, record: GroupMetadataValue) -> None:
    """Write a record that no request waits for; if that fails, the previous one stays and does no harm."""
    generation = group.generation

    def stored() -> None:
        group.stored_generation = max(group.stored_generation, generation)

    with Changes(context, group.group_id) as changes:
        changes.write(ClassicGroupKey(group.group_id), record)
        changes.commit(stored, nobody)


# --- assigning ----------------------------------------------------------------------------------------------


def _expect_syncs(context: Context, group: ClassicGroup) -> None:
    """Drop members that know the generation but do not ask for their assignment (KAFKA-13435)."""
    generation = group.generation

    def end(now_ms: int) -> None:
        if group.unsynced:
            _drop_unsynced(context, group, generation, now_ms)

    deadline_ms = context.now_ms + group.rebalance_timeout_ms
    context.timers.set(TimerKey("sync", group.group_id), deadline_ms, end)


def _drop_unsynced(context: Context, group: ClassicGroup, generation: int, now_ms: int) -> None:
    """Drop some of the members that have not asked for their assignment, the rest soon."""
    context.now_ms = now_ms
    if context.classic(group.group_id) is not group or group.generation != generation:
        return
    if group.state == GroupState.PREPARING_REBALANCE:
        return  # another cause has begun the rebalance
    for member_id in list(islice(group.unsynced, DROPPED_AT_ONCE)):
        member = group.members[member_id]
        note_lost(context, group, member, "it did not ask for its assignment within the rebalance timeout")
        remove_member(context, group, member)
    if not group.unsynced:
        prepare(context, group)
        return
    # Under a key of its own: even if all others ask now, the group has lost members.
    context.timers.set(
        TimerKey("drop", group.group_id),
        now_ms + 1,
        lambda then_ms: _drop_unsynced(context, group, generation, then_ms),
    )


def synced(context: Context, group: ClassicGroup, member_id: str) -> None:
    """Note that the member has asked for its assignment."""
    group.unsynced.discard(member_id)
    if not group.unsynced:
        context.timers.cancel(TimerKey("sync", group.group_id))


def store_assignment(context: Context, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
    """Store all assignments and, once they are durable, tell the members."""
    generation = group.generation

    def still_wanted() -> bool:
        # Others may have joined, left or converted the group meanwhile.
        return group.state == GroupState.COMPLETING_REBALANCE and group.generation == generation

    def stored() -> None:
        group.stored_generation = max(group.stored_generation, generation)
        if still_wanted():
            spread(context, group, assignments, ErrorCode.NONE)
            group.move(Event.ASSIGNED, context.wall_ms)

    def failed(code: ErrorCode) -> None:
        if still_wanted():
            spread(context, group, {}, code)
            prepare(context, group)

    if not have_room(context, group, assignments):
        # As in Kafka for a group whose record is too large.
        failed(ErrorCode.UNKNOWN_SERVER_ERROR)
        return

    def made() -> tuple[GroupMetadataValue, EncodedRecord]:
        record = group.record(assignments)
        return record, encode_record(ClassicGroupKey(group.group_id), record)

    def write(made: tuple[GroupMetadataValue, EncodedRecord]) -> None:
        with Changes(context, group.group_id) as changes:
            changes.write(ClassicGroupKey(group.group_id), *made)
            changes.commit(stored, failed)

    if len(group.members) > ENCODED_AT_ONCE:
        in_thread(context, group, "encoded", made, write)
    else:
        write(made())


def spread(context: Context, group: ClassicGroup, assignments: dict[str, bytes], code: ErrorCode) -> None:
    """Give every member its assignment, and answer the waiting SyncGroups, with it or with an error.

    Of many members some are answered, and their memory counted, at once and the rest soon.
    """
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
    waiting = iter([(member, member.sync) for member in group.members.values()])
    _answer_syncs(context, group, waiting, group.generation, code)


def _answer_syncs(
    context: Context,
    group: ClassicGroup,
    waiting: Iterator[tuple[ClassicMember, SyncReply | None]],
    generation: int,
    code: ErrorCode,
) -> None:
    """Answer some of the members that wait; those whose group has begun to gather again must join it."""
    some = list(islice(waiting, TOLD_AT_ONCE))
    is_over = context.classic(group.group_id) is not group or group.generation != generation
    for member, reply in some:
        if group.members.get(member.member_id) is member and not is_over:
            count_member(context.memory, group, member)
        if reply is None or member.sync is not reply:
            continue
        start_session(context, group, member)
        if code:
            member.answer_sync(sync_refused(code))
        elif is_over or group.state == GroupState.PREPARING_REBALANCE:
            member.answer_sync(sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
        else:
            member.answer_sync(assigned(group, member))
    if len(some) < TOLD_AT_ONCE:
        return

    def go_on(now_ms: int) -> None:
        context.now_ms = now_ms
        _answer_syncs(context, group, waiting, generation, code)

    # A failure to store is followed by a rebalance, which must not silence it.
    key = TimerKey("spread", group.group_id, f"{generation} {code}")
    context.timers.set(key, context.now_ms + 1, go_on)
