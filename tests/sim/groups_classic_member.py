"""Consumers of the classic protocol in the simulated world, as Java's behave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groups.coordinator import Coordinator
from groups.topics import Client
from protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.sim.groups_member import (
    HEARTBEAT_MS,
    REBALANCE_MS,
    RETRIABLE,
    RETRY_MS,
    SESSION_MS,
    Member,
    Place,
)


class ClassicMember(Member):
    """A consumer of the classic protocol, eager or cooperative."""

    def __init__(self, *arguments: Any, cooperative: bool = False, instance_id: str | None = None) -> None:
        super().__init__(*arguments)
        self.cooperative = cooperative
        self.kind = "cooperative" if cooperative else "eager"
        self.instance_id = instance_id
        self.joined = False

    def join(self) -> None:
        """Join, or join again; eager members read nothing from now on."""
        self.life += 1
        self.joined = False
        if not self.cooperative:
            self.held = set()
        subscription = ConsumerProtocolSubscription(
            topics=self.topics, owned_partitions=by_topic(self.held), generation_id=self.generation
        )
        name = "cooperative-sticky" if self.cooperative else "range"
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=encode_subscription(subscription))],
        )
        self.call(
            lambda coordinator, reply: coordinator.join_group(request, self.client, reply, self.world.now_ms),
            self._join_answered,
            self._retry,
            timeout_ms=REBALANCE_MS + 3_000,
        )

    def _retry(self) -> None:
        self.later_in_life(RETRY_MS, self.join)

    def _reset(self) -> None:
        """Give up the membership, which is lost, and with it everything held."""
        self.member_id = ""
        self.generation = -1
        self.held = set()
        self.life += 1
        self.later_in_life(RETRY_MS, self.join)

    def _failed(self, code: ErrorCode) -> None:
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self.join()
        elif code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._reset()
        elif code == ErrorCode.ILLEGAL_GENERATION:
            self.held = set()
            self.generation = -1
            self._retry()
        elif code == ErrorCode.FENCED_INSTANCE_ID:
            self.fenced_for_good()
        else:
            assert code in RETRIABLE, f"{self.name}: {code!r}"
            self._retry()

    def _join_answered(self, response: JoinGroupResponse) -> None:
        if response.error_code:
            if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
            self._failed(ErrorCode(response.error_code))
            return
        self.member_id = response.member_id
        self.history.generation_told(self, response.generation_id)
        assignments = []
        if response.leader == self.member_id and not response.skip_assignment:
            assignments = lead(response, self.world.topics.by_name, cooperative=self.cooperative)
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=response.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=response.protocol_type,
            protocol_name=response.protocol_name,
            assignments=assignments,
        )

        def serve(coordinator: Coordinator, reply: Callable[[Any], None]) -> None:
            group_kind = self.history.kind(coordinator, self.group_id)

            def told(answer: Any) -> None:
                if not answer.error_code and group_kind == "classic":
                    self.history.assigned(self, request.generation_id, places_of(answer.assignment))
                reply(answer)

            coordinator.sync_group(request, Client(5, self.name, "/10.0.0.1"), told, self.world.now_ms)

        self.call(
            serve,
            lambda answer: self._sync_answered(answer, response.generation_id),
            self._retry,
            timeout_ms=REBALANCE_MS + 3_000,
        )

    def _sync_answered(self, response: Any, generation: int) -> None:
        if response.error_code:
            self._failed(ErrorCode(response.error_code))
            return
        found = places_of(response.assignment)
        lost = self.held - found
        self.generation = generation
        self.held = found
        self.joined = True
        self.life += 1
        if self.cooperative and lost:
            # What was given up may go to others now: every member joins once more.
            self.later_in_life(self.world.random.randint(0, 300), self.join)
        else:
            self.later_in_life(HEARTBEAT_MS, self._beat)

    def _beat(self) -> None:
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )

        def serve(coordinator: Coordinator, reply: Callable[[Any], None]) -> None:
            reply(coordinator.heartbeat(request, self.client, self.world.now_ms))

        self.call(serve, self._beat_answered, lambda: self.later_in_life(RETRY_MS, self._beat))

    def _beat_answered(self, response: Any) -> None:
        code = ErrorCode(response.error_code)
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()
        elif code in RETRIABLE:
            self.later_in_life(RETRY_MS, self._beat)
        elif code:
            self._failed(code)
        else:
            self.later_in_life(HEARTBEAT_MS, self._beat)

    def leave(self) -> None:
        """Leave for good; the request may be lost."""
        request = LeaveGroupRequest(
            group_id=self.group_id,
            members=[MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)],
        )
        self.world.call(
            lambda coordinator, reply: coordinator.leave_group(
                request, Client(5, self.name, "/10.0.0.1"), reply, self.world.now_ms
            ),
            lambda _: None,
            lambda: None,
        )
        self.kill()


def by_topic(places: set[Place]) -> list[TopicPartition]:
    """Return partitions as the subscription blob has them."""
    found: dict[str, list[int]] = {}
    for topic, index in sorted(places):
        found.setdefault(topic, []).append(index)
    return [TopicPartition(topic=topic, partitions=indexes) for topic, indexes in found.items()]


def places_of(blob: bytes) -> set[Place]:
    """Return the partitions of an assignment blob."""
    return {
        (topic.topic, index)
        for topic in decode_assignment(blob).assigned_partitions
        for index in topic.partitions
    }


def lead(
    response: JoinGroupResponse, topics: dict[str, Any], *, cooperative: bool
) -> list[SyncGroupRequestAssignment]:
    """Assign round robin, keeping what members own; cooperative leaders withhold what others still own."""
    wanted: dict[str, set[str]] = {}
    owned: dict[Place, str] = {}
    for member in response.members:
        subscription = decode_subscription(member.metadata)
        wanted[member.member_id] = set(subscription.topics)
        for claim in subscription.owned_partitions:
            for index in claim.partitions:
                owned[claim.topic, index] = member.member_id
    target: dict[str, set[Place]] = {name: set() for name in wanted}
    for topic in sorted(set().union(*wanted.values()) & set(topics)):
        members = sorted(name for name in wanted if topic in wanted[name])
        for index in range(topics[topic].partition_count):
            target[members[index % len(members)]].add((topic, index))
    if cooperative:
        for name, places in target.items():
            places -= {place for place in places if owned.get(place, name) != name}
    return [
        SyncGroupRequestAssignment(
            member_id=name,
            assignment=encode_assignment(ConsumerProtocolAssignment(assigned_partitions=by_topic(places))),
        )
        for name, places in target.items()
    ]
