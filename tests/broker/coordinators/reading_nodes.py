"""Several nodes, a topic with a restored record in each partition, and a group with settings for reading."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from broker.catalogue.topics import OFFSETS_TOPIC
from protocol.messages.kawal_reads import KawalReadsRequest
from tests.broker.cluster import Cluster
from tests.broker.gateway import Client
from tests.broker.group_reads import configure, records, seen
from tests.broker.groups import beating
from tests.broker.kit import create, send

MIXED = [(0, b"own"), (2, b"own too")]
ALL = [(0, b"own"), (1, b"restored"), (2, b"own too")]


class Reading(Cluster):
    """`coordinator` has the group g, and `leader`, another node, leads partition `index` of the topic t."""

    def __init__(self, count: int = 2, **settings: Any) -> None:
        super().__init__(
            count,
            kawal_rebalance_interval_ms=0,
            group_initial_rebalance_delay_ms=0,
            group_consumer_session_timeout_ms=45_000,
            **settings,
        )
        self.questions: list[KawalReadsRequest] = []
        """The questions between nodes for groups of clients so far."""
        self.advance(1)
        create(self[0].client(), "t", 2 * count)
        self.settle()
        for index in range(2 * count):
            data = records((b"a", b"own"), (b"b", b"restored"), (b"c", b"own too"), restored=[1])
            assert send(self[self.leader_of(index)].client(), "t", data, index).error_code == 0
        self.coordinator = self.coordinator_of("g")
        self.index = next(index for index in range(count) if self.leader_of(index) != self.coordinator)
        self.leader = self.leader_of(self.index)

    def _deliver(self) -> bool:
        self.questions += [
            request for _, request, _, _ in self.sent if isinstance(request, KawalReadsRequest)
        ]
        return super()._deliver()

    def coordinator_of(self, group: str) -> int:
        """Return the number of the node that coordinates a group."""
        found = self[0].broker.topics.coordinator(OFFSETS_TOPIC, group)
        assert found is not None
        return found

    def leader_of(self, index: int) -> int:
        """Return the number of the node that leads a partition."""
        broker = self[0].broker
        return broker.topics.leader(broker.catalogue.by_name["t"], index)[0]

    def configure(self, group: str = "g", **configs: str) -> None:
        """Give a group settings, which every node then knows."""
        configure(self[0].client(), group, **configs)
        self.settle()

    def beat(
        self, epoch: int = 0, member: str = "m", host: str = "10.0.0.9", group: str = "g", **more: Any
    ) -> Any:
        """Send a member's heartbeat to its coordinator."""
        client = self[self.coordinator_of(group)].client(host)
        answer = client.call(beating(group, member, epoch, **more), 1)
        client.close()
        return answer

    def join(self, member: str = "m", host: str = "10.0.0.9", group: str = "g") -> dict[int, int]:
        """Let a member join; return its partitions, each with its epoch."""
        answer = self.beat(0, member, host, group, topics=["t"])
        assert answer.error_code == 0, answer
        assert answer.assignment is not None
        given = [index for part in answer.assignment.topic_partitions for index in part.partitions]
        return dict.fromkeys(given, answer.member_epoch)

    @property
    def topic_id(self) -> UUID:
        """The id of the topic."""
        return self[0].broker.catalogue.by_name["t"].topic_id

    def reader(self, host: str = "10.0.0.9") -> Client:
        """Return a new connection to the leader."""
        return self[self.leader].client(host)

    def seen(self, client: Client) -> list[tuple[int, bytes | None]]:
        """Return what a client of the leader reads of the partition."""
        return seen(client, "t", 0, self.index)
