"""Many members join one group at once."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any
from uuid import UUID

from benchmarks.groups_clients import ClassicMember, call_all, connect, join_classic, seconds
from compat_tests.broker import Broker
from compat_tests.topics import create_topic
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

MEMBERS = 500
LIMIT_SECONDS = 30.0


def measure(broker: Broker, small: bool) -> list[tuple[str, float, float, str]]:
    """Join by the classic protocol, then by KIP-848."""
    count = MEMBERS // 100 if small else MEMBERS
    topic = create_topic(broker, "joined", count)
    with ExitStack() as stack:
        members = [ClassicMember(client, "classic", topic) for client in connect(stack, broker, count)]
        classic = seconds(lambda: join_classic(members))
    with ExitStack() as stack:
        clients = connect(stack, broker, count)
        new = [ConsumerMember(f"member-{number}", topic) for number in range(count)]
        began = time.perf_counter()
        # There is a partition for each member.
        while (
            any(len(member.held) != 1 for member in new)
            or len({place for member in new for place in member.held}) < count
        ):
            answers = call_all(clients, (member.beating() for member in new), 1)
            for member, answer in zip(new, answers, strict=True):
                member.answered(answer)
            time.sleep(0.2)
        consumer = time.perf_counter() - began
    return [
        (f"join: {count} members, classic", classic, LIMIT_SECONDS, "s"),
        (f"join: {count} members, KIP-848", consumer, LIMIT_SECONDS, "s"),
    ]


class ConsumerMember:
    """A member of a KIP-848 group that takes and gives up partitions at once."""

    def __init__(self, member_id: str, topic: str) -> None:
        self.member_id = member_id
        self.topic = topic
        self.epoch = 0
        self.held: set[tuple[UUID, int]] = set()

    def beating(self) -> ConsumerGroupHeartbeatRequest:
        """Return its next heartbeat, with all that there is to say."""
        owned: dict[UUID, list[int]] = {}
        for topic_id, index in self.held:
            owned.setdefault(topic_id, []).append(index)
        return ConsumerGroupHeartbeatRequest(
            group_id="consumer",
            member_id=self.member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[self.topic],
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=indexes) for topic_id, indexes in owned.items()
            ],
        )

    def answered(self, answer: Any) -> None:
        """Follow the assignment."""
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.held = {
                (topic.topic_id, index)
                for topic in answer.assignment.topic_partitions
                for index in topic.partitions
            }
