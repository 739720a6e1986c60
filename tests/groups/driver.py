"""The driver of a coordinator in these tests: topics, a log that keeps records, a clock, short requests."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Any
from uuid import UUID

from groups.config import NO_SETTINGS, GroupConfig, GroupSettings
from groups.coordinator import Coordinator
from groups.effects import Effects, EncodedRecord
from groups.offload import WEIGHT_MAX
from groups.topics import Client
from protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.groups.kit import Answer as Answer
from tests.groups.kit import Threads, answered_at_once
from tests.groups.kit import Topic as Topic
from tests.groups.kit import Topics as Topics
from tests.groups.memory_check import Follower, check_memory, is_checked_at
from tests.groups.stored_transactions import StoredTransactions

WALL_MS = 1_700_000_000_000
"""The time of day when a driver's clock shows 0."""


class Driver:
    """A coordinator with a log in memory; everything is durable at once unless `hold` is set."""

    def __init__(
        self, *topics: str, seed: int = 1, partitions: int = 5, weight_max: int = WEIGHT_MAX, **config: Any
    ) -> None:
        """Start a coordinator, and create these topics; a thread makes assignments above `weight_max`."""
        self.config = GroupConfig(offsets_topic_num_partitions=partitions, **config)
        self.topics = Topics()
        self.random = Random(seed)
        self.now_ms = 0
        self.wall_offset_ms = WALL_MS
        self.settings: dict[str, GroupSettings] = {}
        self.log: dict[int, list[EncodedRecord]] = {index: [] for index in range(partitions)}
        self.transactions = StoredTransactions(self.log)
        self.hold = False
        self.threads = Threads()
        self.weight_max = weight_max
        # The check looks at every member.
        self.checks_memory = True
        self._follower = Follower(("/127.0.0.1", "app"))
        self._flushes = 0
        self.in_flight: deque[Effects] = deque()
        self.coordinator = self._start()
        for name in topics:
            self.create_topic(name)

    def _start(self) -> Coordinator:
        coordinator = Coordinator(
            config=self.config,
            topics=self.topics,
            random=self.random,
            wall_ms=lambda now_ms: now_ms + self.wall_offset_ms,
            settings=lambda group_id: self.settings.get(group_id, NO_SETTINGS),
            offload=self.threads.offload,
            weight_max=self.weight_max,
        )
        for partition in self.log:
            self.transactions.replay(coordinator, partition)
        coordinator.loaded(list(self.log), self.now_ms)
        self.coordinator = coordinator
        self.flush()
        return coordinator

    def restart(self) -> None:
        """Crash: lose all that is not durable, and everything in memory."""
        self.in_flight.clear()
        self._start()

    # --- the log --------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Append all new effects and, unless held, make them durable; raise what a timer has raised."""
        for failed in self.coordinator.take_internal_errors():
            raise failed.error
        while effects := self.coordinator.take_effects():
            self.in_flight.extend(written for written in effects if not written.settled)
            if not self.hold:
                self.sync()
        self._flushes += 1
        if self.checks_memory and is_checked_at(self._flushes, self.coordinator._context):
            check_memory(self.coordinator._context)
            self._follower.check(self.coordinator._context)

    def sync(self) -> None:
        """Make everything appended durable."""
        while self.in_flight:
            self.sync_one()

    def sync_one(self) -> None:
        effects = self.in_flight.popleft()
        if effects.settled:
            return
        self.transactions.write(effects)
        self.coordinator.durable(effects, self.now_ms)
        self.flush()

    def fail(self, error: ErrorCode = ErrorCode.KAFKA_STORAGE_ERROR) -> None:
        """Lose everything that is not durable."""
        lost, self.in_flight = list(self.in_flight), deque()
        for effects in lost:
            self.coordinator.failed(effects, error, self.now_ms)
        self.flush()

    # --- the clock ------------------------------------------------------------------------------------------

    def advance(self, duration_ms: int) -> None:
        """Let time pass, and run each timer at its moment."""
        end_ms = self.now_ms + duration_ms
        while (due_ms := self.coordinator.next_deadline()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.coordinator.tick(self.now_ms)
            self.flush()
        self.now_ms = end_ms

    # --- topics ---------------------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int = 4) -> Topic:
        topic = self.topics.create(name, partitions)
        self.coordinator.topics_changed(self.now_ms, created=[name])
        self.flush()
        return topic

    def delete_topic(self, name: str) -> None:
        self.topics.delete(name)
        self.coordinator.topics_changed(self.now_ms, deleted=[name])
        self.flush()

    def grow_topic(self, name: str, partitions: int) -> None:
        self.topics.by_name[name].partition_count = partitions
        self.coordinator.topics_changed(self.now_ms, grown=[name])
        self.flush()

    # --- requests -------------------------------------------------------------------------------------------

    def call(self, method: Callable[..., None], *arguments: Any) -> Answer[Any]:
        """Call a method of the coordinator that answers through a callback."""
        answer: Answer[Any] = Answer()
        method(*arguments, answer, self.now_ms)
        self.flush()
        return answer

    def offset_fetch(self, *arguments: Any) -> None:
        """Fetch offsets, all steps of the answer at once."""
        answered_at_once(self.coordinator.offset_fetch, *arguments)

    def join(
        self,
        group_id: str = "g",
        member_id: str = "",
        *,
        version: int = 9,
        instance_id: str | None = None,
        session_ms: int = 10_000,
        rebalance_ms: int = 20_000,
        protocol_type: str = "consumer",
        protocols: Iterable[tuple[str, bytes]] | None = None,
        topics: Iterable[str] = ("t",),
        owned: Iterable[TopicPartition] = (),
        client_id: str = "app",
    ) -> Answer[JoinGroupResponse]:
        if protocols is None:
            protocols = [("range", subscription(*topics, owned_partitions=list(owned)))]
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=blob) for name, blob in protocols],
        )
        return self.call(self.coordinator.join_group, request, client(version, client_id))

    def sync_group(
        self,
        group_id: str,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        version: int = 5,
    ) -> Answer[SyncGroupResponse]:
        request = SyncGroupRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=name, assignment=blob)
                for name, blob in (assignments or {}).items()
            ],
        )
        return self.call(self.coordinator.sync_group, request, client(version))

    def heartbeat(
        self, group_id: str, member_id: str, generation: int, *, instance_id: str | None = None
    ) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=group_id, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        response = self.coordinator.heartbeat(request, client(4), self.now_ms)
        self.flush()
        return ErrorCode(response.error_code)

    def leave(
        self, group_id: str, *members: tuple[str, str | None], version: int = 5
    ) -> Answer[LeaveGroupResponse]:
        request = LeaveGroupRequest(
            group_id=group_id,
            member_id=members[0][0] if version < 3 else "",
            members=[
                MemberIdentity(member_id=member_id, group_instance_id=instance_id)
                for member_id, instance_id in members
            ],
        )
        return self.call(self.coordinator.leave_group, request, client(version))

    def beat(
        self,
        group_id: str,
        member_id: str,
        epoch: int,
        *,
        version: int = 1,
        topics: Iterable[str] | None = None,
        regex: str | None = None,
        owned: dict[UUID, list[int]] | None = None,
        instance_id: str | None = None,
        rebalance_ms: int = -1,
        assignor: str | None = None,
        rack_id: str | None = None,
    ) -> Answer[ConsumerGroupHeartbeatResponse]:
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance_id,
            rack_id=rack_id,
            rebalance_timeout_ms=rebalance_ms,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=None
            if owned is None
            else [TopicPartitions(topic_id=name, partitions=indexes) for name, indexes in owned.items()],
        )
        return self.call(self.coordinator.consumer_group_heartbeat, request, client(version))

    def join_consumer(
        self, group_id: str, member_id: str, *topics: str, **rest: Any
    ) -> Answer[ConsumerGroupHeartbeatResponse]:
        """Send the first heartbeat of a member of the consumer protocol."""
        rest.setdefault("rebalance_ms", 30_000)
        return self.beat(group_id, member_id, 0, topics=topics, owned={}, **rest)

    def commit(
        self,
        group_id: str,
        offsets: dict[tuple[str, int], int],
        *,
        member_id: str = "",
        generation: int = -1,
        version: int = 9,
        metadata: str | None = "",
        instance_id: str | None = None,
        retention_ms: int = -1,
        leader_epoch: int = -1,
    ) -> Answer[OffsetCommitResponse]:
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            by_topic.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=index,
                    committed_offset=offset,
                    committed_leader_epoch=leader_epoch,
                    committed_metadata=metadata,
                )
            )
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(name=topic, partitions=partitions)
                for topic, partitions in by_topic.items()
            ],
        )
        return self.call(self.coordinator.offset_commit, request, client(version))

    def fetch(
        self,
        group_id: str,
        topic: str | None = None,
        *partitions: int,
        require_stable: bool = False,
        member_id: str | None = None,
        epoch: int = -1,
        version: int = 9,
    ) -> Answer[OffsetFetchResponse]:
        topics = None
        if topic is not None:
            topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=list(partitions))]
        request = OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=group_id, member_id=member_id, member_epoch=epoch, topics=topics
                )
            ],
            require_stable=require_stable,
        )
        return self.call(self.offset_fetch, request, client(version))

    def committed(self, group_id: str, topic: str, partition: int) -> int | None:
        found = self.coordinator.committed(group_id, topic, partition)
        return None if found is None else found.offset


def client(version: int, client_id: str = "app") -> Client:
    """Return the sender of a request."""
    return Client(version, client_id, "/127.0.0.1", "ANONYMOUS")


def codes(answer: Answer[OffsetCommitResponse]) -> list[ErrorCode]:
    """Return the error of every partition of a commit."""
    return [
        ErrorCode(partition.error_code) for topic in answer.value.topics for partition in topic.partitions
    ]


def subscription(*topics: str, **rest: Any) -> bytes:
    """Return an encoded subscription."""
    return encode_subscription(ConsumerProtocolSubscription(topics=list(topics), **rest))


def assignment(*partitions: tuple[str, list[int]]) -> bytes:
    """Return an encoded assignment."""
    return encode_assignment(
        ConsumerProtocolAssignment(
            assigned_partitions=[
                TopicPartition(topic=name, partitions=indexes) for name, indexes in partitions
            ]
        )
    )


def assigned(answer: Answer[SyncGroupResponse]) -> dict[str, list[int]]:
    """Return the partitions that a SyncGroup gave."""
    assert answer.error == ErrorCode.NONE, answer.error
    return {
        entry.topic: entry.partitions
        for entry in decode_assignment(answer.value.assignment).assigned_partitions
    }
