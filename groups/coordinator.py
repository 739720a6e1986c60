"""The group coordinator: everything that the rest of the broker may ask of groups.

It is a pure state machine: it neither waits nor writes, and knows the time only from its arguments.

    request methods   take the decoded request, its sender (Client), a callback for the answer, the time
    take_effects()    returns what must be appended to __consumer_offsets; call it after every method below
    durable/failed    report the outcome of the append
    tick()            runs timers; next_deadline() tells when
    take_internal_errors()   errors in timers, after which the partitions of the groups must be replayed

The driver, after each call:

    for effects in coordinator.take_effects():
        if effects.settled:                       # lost together with an earlier one
            continue
        try:
            append effects.records as ONE batch to partition effects.partition
        except …:
            coordinator.failed(effects, error_code, now_ms)
        else:
            when it is durable:  coordinator.durable(effects, now_ms)      in the order of the appends
            when it is lost:     coordinator.failed(effects, error_code, now_ms)

`durable` and `failed` may lead to further effects. An answer is given exactly once, maybe before the request
method returns; it never shows what a crash could undo (see effects.py). Requests that need no record
(heartbeats of classic members, descriptions) are answered at once.

At the start, and again for partitions whose log was lost and reopened (after `unload`):

    coordinator.replay(partition, key, value)     every record of the partitions, each partition in its order
    coordinator.loaded(partitions, now_ms)        before that, requests get COORDINATOR_LOAD_IN_PROGRESS
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from groups import (
    classic_requests,
    copies,
    deletion,
    describe,
    loading,
    offset_commit,
    offset_fetch,
    txn_offset_commit,
)
from groups.classic_member import JoinReply, SyncReply
from groups.classic_requests import LeaveReply
from groups.cleanup import schedule_cleanup
from groups.config import GroupConfig, GroupSettings
from groups.consumer_heartbeat import Reply as BeatReply
from groups.consumer_heartbeat import consumer_group_heartbeat, refused
from groups.context import Context, InternalError, every_offset, no_settings
from groups.discarding import discard_groups, discard_share_groups
from groups.display import SHARE_MODULE, Display
from groups.effects import Effects, EncodedRecord, EndMarker, Stamp
from groups.errors import GroupError
from groups.gate_changes import follow_all
from groups.memory import GroupMemory
from groups.offload import WEIGHT_MAX, Background, Offload, at_once, run_here
from groups.offset_values import Committed
from groups.record_keys import is_share_record
from groups.regexes import RegexIndex
from groups.share.config import ShareGroupConfig, kafkas_defaults
from groups.split_facts import NO_SPLITS, SplitFacts
from groups.topic_changes import topics_changed
from groups.topics import Client, Topics
from groups.txn_offset_commit import Done as EndDone
from groups.txn_offset_commit import Reply as TxnReply
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.leave_group import LeaveGroupRequest
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.offset_commit import OffsetCommitRequest
from protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from protocol.messages.offset_fetch import OffsetFetchRequest
from protocol.messages.sync_group import SyncGroupRequest
from protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

if TYPE_CHECKING:
    from random import Random


TIMERS_PER_TICK: Final = 25
"""The timers run at once, at about 0.1 ms each: the sessions of 10,000 members may end in one moment."""


class Coordinator(Display):
    """All groups of this node."""

    def __init__(
        self,
        *,
        config: GroupConfig,
        topics: Topics,
        random: Random,
        wall_ms: Callable[[int], int],
        settings: Callable[[str], GroupSettings] = no_settings,
        rows_between: Callable[[str, int, int, int], int] = every_offset,
        offload: Offload = run_here,
        weight_max: int = WEIGHT_MAX,
        share_settings: Callable[[str], ShareGroupConfig] = kafkas_defaults,
        splits: SplitFacts = NO_SPLITS,
        background: Background = at_once,
    ) -> None:
        """Make a coordinator that has loaded nothing yet.

        `wall_ms(now_ms)` is the time of day at a monotonic moment; it dates commits and may jump. `settings`
        returns the configuration of one group; `offload` does assignments above `weight_max` in a thread,
        `background` the steps of what is long, with others between them.
        """
        context = Context(
            config=config,
            topics=topics,
            random=random,
            wall_ms=wall_ms,
            settings=settings,
            rows_between=rows_between,
            offload=offload,
            weight_max=weight_max,
            splits=splits,
            background=background,
        )
        context.follow_gates = partial(follow_all, context)
        super().__init__(context, share_settings)
        schedule_cleanup(context)

    # --- the driver's side ----------------------------------------------------------------------------------

    def take_effects(self) -> list[Effects]:
        """Return what must be appended now, in this order; see the top of this file."""
        return self._context.journal.take()

    def durable(self, effects: Effects, now_ms: int) -> None:
        """Report that the records of `effects`, and all before them in their partition, are on the disk."""
        self._at(now_ms).journal.durable(effects, now_ms)

    def failed(self, effects: Effects, error: ErrorCode, now_ms: int) -> None:
        """Report that the records of `effects`, and all after them in their partition, will not be stored."""
        context = self._at(now_ms)
        context.journal.failed(effects, error, now_ms)
        for group in list(context.groups.values()):
            if context.partition(group.group_id) == effects.partition:
                loading.arm(context, group)

    def tick(self, now_ms: int) -> None:
        """Do what is due, some of it if it is very much: then `next_deadline` has not moved past `now_ms`."""
        context = self._at(now_ms)
        context.timers.run_due(
            now_ms, lambda key, error: context.failed(key.group_id, error), at_most=TIMERS_PER_TICK
        )

    def take_internal_errors(self) -> list[InternalError]:
        """Return the errors of our own since the last call, with the groups in whose work they came up.

        The state of these groups may be half changed: unload their partitions and replay them.
        """
        errors, self._context.internal_errors = self._context.internal_errors, []
        return errors

    def next_deadline(self) -> int | None:
        """Return the monotonic moment of the next `tick`; it may be early, never late."""
        return self._context.timers.next_deadline()

    def configure(self, config: GroupConfig) -> None:
        """Use other settings from now on; the number of partitions must stay the same."""
        assert config.offsets_topic_num_partitions == self._context.config.offsets_topic_num_partitions
        self._context.config = config

    # --- loading --------------------------------------------------------------------------------------------

    def needs_module(self, key: bytes | memoryview) -> str:
        """Return the name of a module that replaying a record imports; "": none."""
        return SHARE_MODULE if not self._shares and is_share_record(key) else ""

    def replay(self, partition: int, key: bytes | memoryview, value: bytes | memoryview | None) -> tuple[()]:
        """Apply one stored record of a partition that is being loaded; no further steps are needed."""
        if is_share_record(key):
            self.share(self._context.now_ms).replay(partition, key, value)
        else:
            loading.replay_record(self._context, partition, key, value)
        return ()

    def replay_staged(
        self, partition: int, stamp: Stamp, key: bytes | memoryview, value: bytes | memoryview | None
    ) -> None:
        """Apply one stored record of a transaction.  Raises: Malformed, UnsupportedVersion."""
        loading.replay_staged(self._context, partition, stamp, key, value)

    def replay_end(self, partition: int, producer_id: int, *, commit: bool) -> Iterator[None]:
        """Apply the stored end of a transaction."""
        return txn_offset_commit.replay_end(self._context, partition, producer_id, commit=commit)

    def loaded(self, partitions: Collection[int], now_ms: int) -> None:
        """Serve the groups of these partitions: all their records have been replayed."""
        group_ids = loading.finish_loading(self._at(now_ms), partitions)
        for share in self._shares:
            share.loaded(group_ids)

    def leave_to_others(self, partitions: Collection[int]) -> None:
        """Have requests for the groups of these partitions refused: another node coordinates them."""
        self._context.elsewhere = frozenset(partitions)

    def coordinates(self, partition: int) -> bool:
        """Whether the groups of a partition are served here, once they are loaded."""
        return partition not in self._context.elsewhere

    def unload(self, partitions: Collection[int], now_ms: int) -> None:
        """Forget these partitions; requests that wait for their groups get NOT_COORDINATOR or the like."""
        loading.unload(self._at(now_ms), partitions)
        for share in self._shares:
            share.unload(partitions)

    def discard(self, now_ms: int) -> Generator[None, None, None]:
        """Forget everything in steps; requests that wait are refused."""
        for share in self._shares:
            yield from discard_share_groups(share.membership)
        yield from discard_groups(self._at(now_ms))

    def snapshot(self, partition: int, records_max: int = 1_000) -> Iterator[list[EncodedRecord]]:
        """Yield the present state of a partition in lists, each to be appended before anything else is done.

        Once all are durable, every record that was in the partition before the first is superfluous.
        """
        yield from copies.snapshot(self._context, partition, records_max)
        for share in self._shares:
            yield from share.snapshot(partition)

    def is_whole(self, partition: int) -> bool:
        """Whether a partition is served, and all of its records have been read."""
        context = self._context
        return partition in context.loaded and not context.misread.are_in(partition)

    def partition_of(self, group_id: str) -> int:
        """Return the partition of __consumer_offsets that holds a group."""
        return self._context.partition(group_id)

    # --- topics ---------------------------------------------------------------------------------------------

    def topics_changed(
        self,
        now_ms: int,
        *,
        created: Collection[str] = (),
        deleted: Collection[str] = (),
        grown: Collection[str] = (),
    ) -> None:
        """React to changed topics; the injected `topics` show the change already.

        Committed offsets of deleted topics are deleted; groups get other assignments.
        """
        topics_changed(self._at(now_ms), created=created, deleted=deleted, grown=grown)
        for share in self._shares:
            share.topics_changed({*created, *deleted, *grown})

    def is_known(self, group_id: str) -> bool:
        """Whether the group's records have been replayed."""
        return self._context.partition(group_id) in self._context.loaded

    def are_known(self, group_ids: Collection[str]) -> bool:
        """Whether the records of all these groups have been replayed."""
        return self.is_loaded or all(map(self.is_known, group_ids))

    # --- classic members ------------------------------------------------------------------------------------

    def join_group(self, request: JoinGroupRequest, client: Client, reply: JoinReply, now_ms: int) -> None:
        """Serve JoinGroup v0-9; may wait for as long as the longest rebalance timeout of the group."""
        classic_requests.join_group(self._at(now_ms), request, client, reply)

    def sync_group(self, request: SyncGroupRequest, client: Client, reply: SyncReply, now_ms: int) -> None:
        """Serve SyncGroup v0-5; may wait likewise."""
        classic_requests.sync_group(self._at(now_ms), request, client, reply)

    def heartbeat(self, request: HeartbeatRequest, client: Client, now_ms: int) -> HeartbeatResponse:
        """Serve Heartbeat v0-4."""
        return classic_requests.heartbeat(self._at(now_ms), request, client)

    def leave_group(self, request: LeaveGroupRequest, client: Client, reply: LeaveReply, now_ms: int) -> None:
        """Serve LeaveGroup v0-5."""
        classic_requests.leave_group(self._at(now_ms), request, client, reply)

    # --- members of the consumer protocol -------------------------------------------------------------------

    def consumer_group_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, client: Client, reply: BeatReply, now_ms: int
    ) -> None:
        """Serve ConsumerGroupHeartbeat v0-1."""
        try:
            consumer_group_heartbeat(self._at(now_ms), request, client, reply)
        except GroupError as error:
            reply(refused(error.code, error.message))

    @property
    def regexes(self) -> RegexIndex:
        """The topics that match the patterns in use."""
        return self._context.regexes

    # --- offsets --------------------------------------------------------------------------------------------

    def offset_commit(
        self, request: OffsetCommitRequest, client: Client, reply: offset_commit.Reply, now_ms: int
    ) -> None:
        """Serve OffsetCommit v2-10."""
        offset_commit.commit_offsets(self._at(now_ms), request, client, reply)

    def refuse_txn_commit(
        self, request: TxnOffsetCommitRequest, code: ErrorCode, now_ms: int
    ) -> TxnOffsetCommitResponse:
        """Return the answer to a TxnOffsetCommit whose transaction does not have the group's partition."""
        return txn_offset_commit.refused(self._at(now_ms), request, code)

    def txn_offset_commit(self, request: TxnOffsetCommitRequest, reply: TxnReply, now_ms: int) -> None:
        """Serve TxnOffsetCommit v0-5, for a transaction that has the group's partition already."""
        txn_offset_commit.commit_in_transaction(self._at(now_ms), request, reply)

    def end_transaction(self, partition: int, marker: EndMarker, done: EndDone, now_ms: int) -> None:
        """Write a transaction's end into a partition; `done` when its offsets count, or with the error."""
        txn_offset_commit.end_in_partition(self._at(now_ms), partition, marker, done)

    def offset_fetch(
        self, request: OffsetFetchRequest, client: Client, begin: offset_fetch.Begin, now_ms: int
    ) -> None:
        """Serve OffsetFetch v1-10: `begin(steps)` is called when the offsets may be read, maybe at once."""
        offset_fetch.fetch_offsets(self._at(now_ms), request, client, begin)

    def offset_delete(
        self,
        request: OffsetDeleteRequest,
        reply: deletion.OffsetDeleteReply,
        now_ms: int,
        *,
        goes_on: bool = False,
    ) -> None:
        """Serve OffsetDelete v0, or with `goes_on` a later part of one."""
        try:
            deletion.delete_offsets(self._at(now_ms), request, reply, goes_on=goes_on)
        except GroupError as error:
            reply(OffsetDeleteResponse(error_code=error.code, topics=[]))

    def committed(self, group_id: str, topic: str, partition: int) -> Committed | None:
        """Return the durable progress of a group in one partition."""
        return self._context.offsets.get(group_id, topic, partition)

    # --- administration -------------------------------------------------------------------------------------

    def delete_groups(self, request: DeleteGroupsRequest, reply: deletion.DeleteReply, now_ms: int) -> None:
        """Serve DeleteGroups v0-2."""
        delete_share = self._shares[0].delete if self._shares else None
        deletion.delete_groups(self._at(now_ms), request, reply, delete_share)

    def describe_groups(
        self, request: DescribeGroupsRequest, client: Client, now_ms: int
    ) -> describe.Steps[DescribeGroupsResponse]:
        """Serve DescribeGroups v0-6: return the steps that answer."""
        return describe.describe_groups(self._at(now_ms), request, client.version)

    def consumer_group_describe(
        self, request: ConsumerGroupDescribeRequest, now_ms: int
    ) -> describe.Steps[ConsumerGroupDescribeResponse]:
        """Serve ConsumerGroupDescribe v0-1: return the steps that answer."""
        return describe.describe_consumer_groups(self._at(now_ms), request)

    def list_groups(self, request: ListGroupsRequest, now_ms: int) -> describe.Steps[ListGroupsResponse]:
        """Serve ListGroups v0-5: return the steps that answer."""
        listed = (group for share in self._shares for group in share.listed())
        return describe.list_groups(self._at(now_ms), request, listed)

    @property
    def is_loaded(self) -> bool:
        """True once all partitions have been replayed: only then does `committed` know every offset."""
        context = self._context
        return len(context.loaded) == context.config.offsets_topic_num_partitions

    @property
    def memory(self) -> GroupMemory:
        """The memory that the members of groups take."""
        return self._context.memory
