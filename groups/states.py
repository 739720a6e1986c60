"""The states of groups and members, and all that changes them.

Classic group (KIP-62: the clients' leader assigns):

               join                    all have joined                 assignment stored
    EMPTY ------------> PREPARING ----------------------> COMPLETING --------------------> STABLE
      ^                 |    ^  ^                          |                                 |
      +--- no members --+    |  +---- join, leave, loss ---+                                 |
                             +--------------- join, leave, loss, new metadata ---------------+
    any --deleted, converted, unloaded--> DEAD

Consumer group (KIP-848: the server assigns): its state follows from three facts, each member's from two.

    group epoch (something changed) >= assignment epoch (target computed for it) >= member epoch (followed it)

    the target takes a partition from member A and gives it to member B:
    A: STABLE --beat--> UNREVOKED, old epoch, told to give it up --beat without it--> STABLE, new epoch
    B: STABLE --beat--> UNRELEASED, new epoch, told the rest ------beat after A's---> STABLE, new epoch

The code runs on the tables below: handlers look up their answer in ANSWERS, and changes of state in
TRANSITIONS, CONSUMER_STATES and RECONCILIATION. The tables of docs/groups.md are generated from them
(states_markdown.py), and each row is tested.
Source: KIP-62, KIP-345, KIP-394, KIP-848; Kafka 4.3's GroupMetadataManager, ClassicGroup, ConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Final, NamedTuple

from protocol.error_codes import ErrorCode


class GroupState(Enum):
    """The state of a classic group; the value is what Kafka's APIs show."""

    EMPTY = "Empty"
    """No members. Any client may commit offsets, from outside, too; the group can be deleted."""

    PREPARING_REBALANCE = "PreparingRebalance"
    """Members gather; their JoinGroup requests wait until all have come or the deadline has passed.
    Members may still commit for the last generation."""

    COMPLETING_REBALANCE = "CompletingRebalance"
    """The new generation is known; SyncGroup requests wait for the leader's assignment, and its storage."""

    STABLE = "Stable"
    """Every member has an assignment, which is stored."""

    DEAD = "Dead"
    """Deleted, converted or unloaded; a request that still holds it is told to look for the coordinator."""


class Event(Enum):
    """An event that changes the state of a classic group; the value describes it."""

    REBALANCE = "a member joins, leaves, is lost or changes"
    GATHERED = "all members have joined, or those that did not are dropped"
    DESERTED = "the gathering ends without members"
    ASSIGNED = "the leader's assignment is stored"
    REMOVED = "the group is deleted, converted or unloaded"


TRANSITIONS: Final[Mapping[tuple[GroupState, Event], GroupState]] = {
    (GroupState.EMPTY, Event.REBALANCE): GroupState.PREPARING_REBALANCE,
    (GroupState.EMPTY, Event.REMOVED): GroupState.DEAD,
    (GroupState.PREPARING_REBALANCE, Event.GATHERED): GroupState.COMPLETING_REBALANCE,
    (GroupState.PREPARING_REBALANCE, Event.DESERTED): GroupState.EMPTY,
    (GroupState.PREPARING_REBALANCE, Event.REMOVED): GroupState.DEAD,
    (GroupState.COMPLETING_REBALANCE, Event.ASSIGNED): GroupState.STABLE,
    (GroupState.COMPLETING_REBALANCE, Event.REBALANCE): GroupState.PREPARING_REBALANCE,
    (GroupState.COMPLETING_REBALANCE, Event.REMOVED): GroupState.DEAD,
    (GroupState.STABLE, Event.REBALANCE): GroupState.PREPARING_REBALANCE,
    (GroupState.STABLE, Event.REMOVED): GroupState.DEAD,
}
"""The state after each event. A pair that is missing cannot happen; a KeyError is our own bug."""


class Request(Enum):
    """A request to a classic group by, or about, members it knows; the value describes it."""

    REJOIN = "JoinGroup, nothing changed"
    REJOIN_CHANGED = "JoinGroup, other protocols"
    REJOIN_LEADER = "JoinGroup of the leader"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    COMMIT = "OffsetCommit"
    DELETE = "DeleteGroups"


class Action(Enum):
    """The outcome of a request, if it is not an error; the value describes it."""

    ACCEPT = "accepted"
    PARK = "waits"
    REBALANCE = "waits, new rebalance"
    TELL_GENERATION = "the current generation"
    TELL_ASSIGNMENT = "the assignment"


ANSWERS: Final[Mapping[GroupState, Mapping[Request, Action | ErrorCode]]] = {
    GroupState.EMPTY: {
        Request.REJOIN: ErrorCode.UNKNOWN_MEMBER_ID,
        Request.REJOIN_CHANGED: ErrorCode.UNKNOWN_MEMBER_ID,
        Request.REJOIN_LEADER: ErrorCode.UNKNOWN_MEMBER_ID,
        Request.SYNC: ErrorCode.UNKNOWN_MEMBER_ID,
        Request.HEARTBEAT: ErrorCode.UNKNOWN_MEMBER_ID,
        Request.COMMIT: Action.ACCEPT,
        Request.DELETE: Action.ACCEPT,
    },
    GroupState.PREPARING_REBALANCE: {
        Request.REJOIN: Action.PARK,
        Request.REJOIN_CHANGED: Action.PARK,
        Request.REJOIN_LEADER: Action.PARK,
        Request.SYNC: ErrorCode.REBALANCE_IN_PROGRESS,
        Request.HEARTBEAT: ErrorCode.REBALANCE_IN_PROGRESS,
        Request.COMMIT: Action.ACCEPT,
        Request.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    GroupState.COMPLETING_REBALANCE: {
        # The answer to the first JoinGroup was lost.
        Request.REJOIN: Action.TELL_GENERATION,
        Request.REJOIN_CHANGED: Action.REBALANCE,
        Request.REJOIN_LEADER: Action.TELL_GENERATION,
        Request.SYNC: Action.PARK,
        # Members send heartbeats as soon as they know the generation. Kafka's comments promise an error here,
        # but its code gives none.
        Request.HEARTBEAT: Action.ACCEPT,
        Request.COMMIT: ErrorCode.REBALANCE_IN_PROGRESS,
        Request.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    GroupState.STABLE: {
        Request.REJOIN: Action.TELL_GENERATION,
        Request.REJOIN_CHANGED: Action.REBALANCE,
        # The leader joins again when the topics have changed, which its metadata does not show.
        Request.REJOIN_LEADER: Action.REBALANCE,
        Request.SYNC: Action.TELL_ASSIGNMENT,
        Request.HEARTBEAT: Action.ACCEPT,
        Request.COMMIT: Action.ACCEPT,
        Request.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    GroupState.DEAD: {
        Request.REJOIN: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Request.REJOIN_CHANGED: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Request.REJOIN_LEADER: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Request.SYNC: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Request.HEARTBEAT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Request.COMMIT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Request.DELETE: ErrorCode.GROUP_ID_NOT_FOUND,
    },
}
"""The member and its generation have been checked before; a wrong generation takes precedence."""


# --- consumer groups ---------------------------------------------------------------------------------------


class ConsumerGroupState(Enum):
    """The state of a consumer group; the value is what Kafka's APIs show."""

    EMPTY = "Empty"
    """No members. The group can be deleted, or become a classic one."""

    ASSIGNING = "Assigning"
    """The target assignment does not show the latest changes yet: they are still being gathered."""

    RECONCILING = "Reconciling"
    """There is a target assignment that some members have not reached."""

    STABLE = "Stable"
    """Every member has what the target gives it."""

    DEAD = "Dead"
    """Deleted or converted."""


class GroupFacts(NamedTuple):
    """The facts that determine the state of a consumer group."""

    has_members: bool
    target_is_current: bool
    """The assignment epoch is the group epoch."""
    all_reconciled: bool
    """Every member is STABLE in the assignment epoch."""


CONSUMER_STATES: Final[Mapping[GroupFacts, ConsumerGroupState]] = {
    GroupFacts(has_members=has, target_is_current=current, all_reconciled=reconciled): (
        ConsumerGroupState.EMPTY
        if not has
        else ConsumerGroupState.ASSIGNING
        if not current
        else ConsumerGroupState.STABLE
        if reconciled
        else ConsumerGroupState.RECONCILING
    )
    for has in (False, True)
    for current in (False, True)
    for reconciled in (False, True)
}


class MemberState(IntEnum):
    """The progress of a consumer group's member towards the target; the numbers are those of its record."""

    STABLE = 0
    """It has what the target gave it in its epoch."""

    UNREVOKED_PARTITIONS = 1
    """It holds partitions that it must give up; it stays in its epoch until a heartbeat no longer lists them,
    or until its rebalance timeout removes it."""

    UNRELEASED_PARTITIONS = 2
    """It is in the target's epoch, but others have not yet given up all that it is to have."""

    UNKNOWN = 127
    """A state of a later version; the member is fenced unless it holds nothing."""


class MemberFacts(NamedTuple):
    """The facts that determine the next state of a member."""

    must_revoke: bool
    """It holds, or may hold, partitions that the target does not give it."""
    must_wait: bool
    """Others hold partitions that the target gives it."""


class Reconciled(NamedTuple):
    """The next state of a member, and whether it moves to the target's epoch."""

    state: MemberState
    moves: bool


RECONCILIATION: Final[Mapping[MemberFacts, Reconciled]] = {
    MemberFacts(must_revoke=True, must_wait=True): Reconciled(MemberState.UNREVOKED_PARTITIONS, moves=False),
    MemberFacts(must_revoke=True, must_wait=False): Reconciled(MemberState.UNREVOKED_PARTITIONS, moves=False),
    MemberFacts(must_revoke=False, must_wait=True): Reconciled(MemberState.UNRELEASED_PARTITIONS, moves=True),
    MemberFacts(must_revoke=False, must_wait=False): Reconciled(MemberState.STABLE, moves=True),
}


# --- as TDengine shows it -----------------------------------------------------------------------------------


class ConsumerStatus(Enum):
    """The status of a consumer in SHOW CONSUMERS."""

    REBALANCING = "rebalancing"
    READY = "ready"
    LOST = "lost"
    """Its session ran out, it did not give partitions up in time, or it is a static member that went away."""


CLASSIC_STATUS: Final[Mapping[GroupState, ConsumerStatus]] = {
    GroupState.EMPTY: ConsumerStatus.LOST,
    GroupState.PREPARING_REBALANCE: ConsumerStatus.REBALANCING,
    GroupState.COMPLETING_REBALANCE: ConsumerStatus.REBALANCING,
    GroupState.STABLE: ConsumerStatus.READY,
    GroupState.DEAD: ConsumerStatus.LOST,
}
