"""Consumers of the consumer protocol (KIP-848) in the simulated world, as Java's behave."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.sim.groups_member import HEARTBEAT_MS, REBALANCE_MS, RETRIABLE, RETRY_MS, Member, Place


class ConsumerMember(Member):
    """A consumer of the consumer protocol."""

    kind = "consumer"

    def __init__(self, *arguments: Any, instance_id: str | None = None) -> None:
        super().__init__(*arguments)
        self.client = Client(1, self.name, "/10.0.0.1")
        self.instance_id = instance_id
        self.member_id = f"{self.name}-{self.world.random.getrandbits(40):x}"
        self.full = True
        self.adopting = False

    def join(self) -> None:
        """Give everything up and join."""
        self.life += 1
        self.generation = 0
        self.held = set()
        self.full = True
        self.adopting = False
        self._beat()

    def _beat(self) -> None:
        joins = self.generation == 0
        owned = None
        if self.full and not self.adopting:
            owned = self._owned()
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.generation,
            instance_id=self.instance_id,
            rebalance_timeout_ms=REBALANCE_MS if self.full else -1,
            subscribed_topic_names=self.topics if self.full else None,
            topic_partitions=[] if joins else owned,
        )
        self.full = False
        self.call(
            lambda coordinator, reply: coordinator.consumer_group_heartbeat(
                request, self.client, reply, self.world.now_ms
            ),
            self._answered,
            self._failed,
        )

    def _owned(self) -> list[TopicPartitions]:
        found: dict[UUID, list[int]] = {}
        for topic, index in sorted(self.held):
            found.setdefault(self.world.topics.by_name[topic].topic_id, []).append(index)
        return [TopicPartitions(topic_id=topic_id, partitions=indexes) for topic_id, indexes in found.items()]

    def _failed(self) -> None:
        self.full = True
        self.later_in_life(RETRY_MS, self._beat)

    def _answered(self, response: Any) -> None:
        code = ErrorCode(response.error_code)
        if code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            self.join()
        elif code == ErrorCode.FENCED_INSTANCE_ID:
            self.fenced_for_good()
        elif code == ErrorCode.GROUP_ID_NOT_FOUND and self.generation:
            self.join()
        elif code:
            assert code in RETRIABLE, f"{self.name}: {code!r} {response.error_message}"
            self._failed()
        else:
            self.history.epoch_told(self, response.member_epoch)
            self.generation = response.member_epoch
            if response.assignment is not None:
                self._adopt(
                    {
                        (self.world.topics.by_id[topic.topic_id].name, index)
                        for topic in response.assignment.topic_partitions
                        for index in topic.partitions
                    }
                )
            self.later_in_life(HEARTBEAT_MS, self._beat)

    def _adopt(self, target: set[Place]) -> None:
        """Give up what is no longer assigned, which takes a while, then take the rest and report it."""
        self.life += 1

        def done() -> None:
            self.adopting = False
            self.held = target
            self.life += 1
            self.full = True
            self._beat()

        if target == self.held:
            self.adopting = False
            return
        self.adopting = True
        life = self.life
        # Only a newer assignment or the loss of the membership stops it; beats go on meanwhile.
        self.later(
            self.world.random.randint(0, 500) if self.held - target else 0,
            lambda: done() if life == self.life else None,
        )

    def leave(self) -> None:
        """Leave for good; static members leave for a while."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=-1 if self.instance_id is None else -2,
            instance_id=self.instance_id,
        )
        self.world.call(
            lambda coordinator, reply: coordinator.consumer_group_heartbeat(
                request, self.client, reply, self.world.now_ms
            ),
            lambda _: None,
            lambda: None,
        )
        self.kill()
