"""Several nodes with a topic that keeps records for 20 s, and a group that may hold them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from broker.catalogue.topics import OFFSETS_TOPIC
from protocol.messages.kawal_progress import KawalProgressRequest
from tests.broker.cluster import Cluster
from tests.broker.gateway import START_MS, Client
from tests.broker.groups import commit
from tests.broker.kit import batch, create, send
from tests.broker.upkeep.holds import INTERVAL_MS, hold

RECORDS = 6


class Holding(Cluster):
    """`coordinator` has the group, and `leader`, another node, leads partition `index`; each leads two."""

    def __init__(self, count: int = 2, **settings: Any) -> None:
        super().__init__(
            count,
            log_retention_check_interval_ms=INTERVAL_MS,
            kawal_rebalance_interval_ms=0,
            **settings,
        )
        self.questions = 0
        """The questions for progress so far."""
        self.advance(1)
        create(self[0].client(), "t", 2 * count, retention_ms="20000", segment_ms="1")
        self.settle()
        self.fill("t")
        self.group, self.coordinator = "g", self.coordinator_of("g")
        self.index = next(index for index in range(count) if self.leader_of(index) != self.coordinator)
        self.leader = self.leader_of(self.index)

    def _deliver(self) -> bool:
        self.questions += sum(isinstance(request, KawalProgressRequest) for _, request, _, _ in self.sent)
        return super()._deliver()

    def coordinator_of(self, group: str) -> int:
        """Return the number of the node that coordinates a group."""
        found = self[0].broker.topics.coordinator(OFFSETS_TOPIC, group)
        assert found is not None
        return found

    def leader_of(self, index: int, topic: str = "t") -> int:
        """Return the number of the node that leads a partition."""
        broker = self[0].broker
        return broker.topics.leader(broker.catalogue.by_name[topic], index)[0]

    def indexes(self, topic: str = "t") -> Iterator[int]:
        """Yield the topic's partitions."""
        yield from range(self[0].broker.catalogue.by_name[topic].partition_count)

    def fill(self, topic: str) -> None:
        """Write records, a second apart, to all partitions."""
        for index in self.indexes(topic):
            client = self[self.leader_of(index, topic)].client()
            for number in range(RECORDS):
                data = batch(b"v" * 1000, timestamp_ms=START_MS + 1000 * number)
                assert send(client, topic, data, index).error_code == 0

    def client_of_group(self) -> Client:
        """Return a client of the group's coordinator."""
        return self[self.coordinator].client()

    def hold(self, **configs: str) -> None:
        """Give the group settings."""
        hold(self[0].client(), self.group, **configs)
        self.settle()

    def commit(self, offset: int, index: int | None = None, topic: str = "t") -> None:
        """Commit the group's progress in one partition."""
        commit(self.client_of_group(), self.group, (topic, self.index if index is None else index, offset))

    def pass_time(self, duration_ms: int = 2 * INTERVAL_MS) -> None:
        """Let time pass, for an answer in time in small steps."""
        for _ in range(duration_ms // 500):
            self.advance(500)

    def start(self, index: int | None = None, topic: str = "t") -> int:
        """Return the log start of a partition."""
        chosen = self.index if index is None else index
        return self[self.leader_of(chosen, topic)].partition(topic, chosen).log_start
