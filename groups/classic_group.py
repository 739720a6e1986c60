"""A classic group: its members and generation.

The live object runs ahead of its record, which is written when a generation has its assignment or has
become empty; a restart goes back to the last one written. Generation numbers that members were told of since
then must not be used again. So a loaded group continues GENERATIONS_SKIPPED numbers later, and a number
further from the last stored one is stored before any member hears of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from groups.classic_member import (
    ClassicMember,
    Protocols,
    Tally,
    join_refused,
    member_of_record,
    sync_refused,
    topics_in,
)
from groups.record_schemas import GroupMetadataValue
from groups.states import TRANSITIONS, Event, GroupState
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed

CONSUMER_PROTOCOL: Final = "consumer"
"""The protocol type of consumers, whose metadata we can read."""

GENERATIONS_SKIPPED: Final = 100
"""The number of generations that members may be told of before one must be stored."""


class ClassicGroup:
    """One group; `pending`: ids given out but not used yet, `unsynced`: members whose SyncGroup is due."""

    __slots__ = (
        "generation",
        "group_id",
        "instances",
        "leader",
        "members",
        "more_have_joined",
        "pending",
        "protocol",
        "protocol_type",
        "server_assigned",
        "since_ms",
        "skipped",
        "state",
        "stored_generation",
        "tally",
        "unsynced",
        "was_empty",
        "withheld",
        "written",
    )

    def __init__(self, group_id: str, *, generation: int = 0, since_ms: int = -1) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        # When the state was entered, in ms since 1970; -1: unknown.
        self.since_ms = since_ms
        self.generation = generation
        self.stored_generation = generation
        # The record written last, durable or not.
        self.written: GroupMetadataValue | None = None
        self.skipped = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.tally = Tally()
        self.instances: dict[str, str] = {}
        self.pending: set[str] = set()
        self.unsynced: set[str] = set()
        # Of the running rebalance: whether the group was empty, and whether more joined since the last look.
        self.was_empty = False
        self.more_have_joined = False
        # Of the generation: whether its partitions are assigned here, not by the leader.
        self.server_assigned = False
        # Topics and partitions that no member has got because of their gates.
        self.withheld: frozenset[tuple[str, int]] = frozenset()

    # --- questions ------------------------------------------------------------------------------------------

    @property
    def is_consumer_group(self) -> bool:
        """Whether its members speak the consumers' embedded protocol."""
        return self.protocol_type == CONSUMER_PROTOCOL

    @property
    def waiting_joins(self) -> int:
        """The number of members that have joined the running rebalance."""
        return self.tally.waiting_joins

    @property
    def all_have_joined(self) -> bool:
        """Whether the running rebalance waits for no more members."""
        return not self.pending and self.tally.waiting_joins == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout that any member asks for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these protocols fits in: all others must know at least one of them."""
        if not self.members:
            return bool(protocol_type) and bool(protocols)
        known, count = self.tally.names, len(self.members)
        return self.protocol_type == protocol_type and any(known[name] == count for name, _ in protocols)

    def choose_protocol(self) -> str:
        """Return the protocol that most members prefer among those that all know."""
        # Not by the set of all that are common: a member may know 20,000, and mostly the first one is.
        known, members = self.tally.names, len(self.members)
        votes: Counter[str] = Counter()
        for preference, count in self.tally.preferences.items():
            votes[next((name for name in preference if known[name] == members), "")] += count
        return min(votes, key=lambda name: (-votes[name], name))

    def subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics its consumers subscribe to; None if they cannot be known."""
        if not self.members:
            return frozenset() if self.protocol_type else None
        if not self.is_consumer_group or self.protocol is None:
            return None
        try:
            return frozenset(
                topic
                for member in self.members.values()
                for topic in topics_in(member.metadata(self.protocol))
            )
        except Malformed:
            return None

    def subscribes(self, topic: str) -> bool:
        """Whether consumers of the group subscribe to the topic, or may do so for all we can tell."""
        topics = self.subscribed_topics()
        return self.is_consumer_group if topics is None else topic in topics

    # --- changes --------------------------------------------------------------------------------------------

    def move(self, event: Event, wall_ms: int) -> None:
        """Enter the state that the event leads to."""
        self.state = TRANSITIONS[self.state, event]
        self.since_ms = wall_ms

    def dissolve(self, code: ErrorCode, wall_ms: int) -> None:
        """Retire this object: answer all waiting calls with the error."""
        self.move(Event.REMOVED, wall_ms)
        for member in self.members.values():
            member.answer_join(join_refused(code, member.member_id))
            member.answer_sync(sync_refused(code))

    def add(self, member: ClassicMember) -> None:
        """Let a member in; the first one becomes the leader and decides the protocol type."""
        self.pending.discard(member.member_id)
        self.members[member.member_id] = member
        member.enter(self.tally)
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        """Forget a member, or an id that was given out."""
        member = self.members.pop(member_id, None)
        self.pending.discard(member_id)
        self.unsynced.discard(member_id)
        if member is not None:
            member.enter(None)
        instance_id = None if member is None else member.instance_id
        if instance_id is not None and self.instances.get(instance_id) == member_id:
            del self.instances[instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def replace_static(self, old_id: str, new_id: str) -> ClassicMember:
        """Give a static member another id: its client has restarted."""
        member = self.members.pop(old_id)
        self.unsynced.discard(old_id)
        member.member_id = new_id
        self.members[new_id] = member
        if member.instance_id is not None:
            self.instances[member.instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return member

    def elect_leader(self) -> bool:
        """Make sure that the leader has joined the running rebalance; False if no member has."""
        leader = self.members.get(self.leader or "")
        if leader is not None and leader.join is not None:
            return True
        for member_id, member in self.members.items():
            if member.join is not None:
                self.leader = member_id
                return True
        return False

    @property
    def next_generation(self) -> int:
        """The number of the generation that comes next."""
        return (self.generation + self.skipped + 1) & 0x7FFFFFFF

    @property
    def must_reserve(self) -> bool:
        """Whether the next number must be stored before any member is told of it."""
        return self.next_generation - self.stored_generation > GENERATIONS_SKIPPED

    def reservation(self) -> GroupMetadataValue:
        """Return a record that reserves the next number: otherwise a copy of the last one written.

        If it is loaded, its members are in no generation that they know, and join again.
        """
        written = self.written
        if written is None:
            return GroupMetadataValue(
                protocol_type=self.protocol_type or "",
                generation=self.next_generation,
                protocol=None,
                leader=None,
                current_state_timestamp=self.since_ms,
                members=[],
            )
        return replace(written, generation=self.next_generation)

    def begin_generation(self) -> None:
        """Begin the next generation, with the protocol that its members agree on."""
        self.generation = self.next_generation
        self.skipped = 0
        self.protocol = self.choose_protocol() if self.members else None
        if not self.members:
            self.leader = None

    # --- records --------------------------------------------------------------------------------------------

    def record(self, assignments: dict[str, bytes] | None = None) -> GroupMetadataValue:
        """Return the group as it is stored; `assignments`, if given, replace those of the members.

        A thread may call it: if the group changes meanwhile, the record is of no use, but whole.
        """
        members = [member.record(self.protocol) for member in tuple(self.members.values())]
        if assignments is not None:
            for member in members:
                member.assignment = assignments.get(member.member_id, b"")
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp=self.since_ms,
            members=members,
        )

    @classmethod
    def from_record(cls, group_id: str, record: GroupMetadataValue) -> ClassicGroup:
        """Return the group as it was stored."""
        group = cls(group_id, generation=record.generation, since_ms=record.current_state_timestamp)
        group.protocol_type = record.protocol_type or None
        group.protocol = record.protocol
        for stored in record.members:
            group.add(member_of_record(stored, record.protocol))
        group.leader = record.leader
        group.skipped = GENERATIONS_SKIPPED
        group.written = record
        if group.members:
            group.state = GroupState.STABLE
        return group
