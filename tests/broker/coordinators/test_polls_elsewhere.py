"""kawal.max.poll.interval.ms on several nodes: a member polls wherever its partitions are led."""

from __future__ import annotations

from typing import Any

import pytest

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators import polls_elsewhere
from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.kawal_groups import KawalGroupsRequest
from tests.broker.cluster import Cluster
from tests.broker.groups import beating, commit
from tests.broker.kit import batch, create, fetch, send

GROUP = 32
LIMIT_MS = 10_000


class Polling(Cluster):
    """Nodes, and the member m of group g, which has one partition; `elsewhere` is not its coordinator."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            2,
            kawal_rebalance_interval_ms=0,
            group_consumer_session_timeout_ms=45_000,
            **settings,
        )
        create(self[0].client(), "t")
        self.settle()
        broker = self[0].broker
        self.elsewhere = broker.topics.leader(broker.catalogue.by_name["t"], 0)[0]
        self.reader = self[self.elsewhere].client()
        send(self.reader, "t", batch(b"a", b"b"))
        self.group, self.coordinator = self._group()
        self.epoch: int = self.beat(topics=["t"]).member_epoch
        self.settle()

    def _group(self) -> tuple[str, int]:
        """Return a group that another node coordinates, and that node."""
        for number in range(20):
            for node in range(2):
                answer = self.call(self[node].client(), beating(f"g{number}", "probe", topics=["none"]), 1)
                self.advance(100)
                if not answer.error_code and node != self.elsewhere:
                    return f"g{number}", node
        raise AssertionError(f"no group has its coordinator elsewhere; {OFFSETS_TOPIC} is on one node")

    def beat(self, epoch: int = 0, topics: list[str] | None = None) -> Any:
        """Send a heartbeat of the member to its coordinator."""
        client = self[self.coordinator].client()
        return self.call(client, beating(self.group, "m", epoch, topics=topics), 1)

    def limit(self, limit_ms: int = LIMIT_MS) -> None:
        """Give the group a limit."""
        config = AlterableConfig(name="kawal.max.poll.interval.ms", config_operation=0, value=str(limit_ms))
        resource = AlterConfigsResource(resource_type=GROUP, resource_name=self.group, configs=[config])
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        assert self.call(self[1].client(), request, 1).responses[0].error_code == 0

    def live(self, seconds: int, *, fetches: bool = False) -> int:
        """Let the member send heartbeats, and fetch if it is to; return the last heartbeat's error."""
        code = 0
        for _ in range(seconds):
            self.advance(1_000)
            code = self.beat(self.epoch).error_code
            if fetches:
                fetch(self.reader, "t")
        return code

    def status(self) -> str:
        """Return the member's status."""
        request = KawalGroupsRequest(group_ids=[self.group])
        rows = self.call(self[self.coordinator].client(), request, 0).consumers
        (found,) = (row.status for row in rows if row.consumer_id == "m")
        return str(found)


@pytest.fixture
def cluster() -> Polling:
    cluster = Polling()
    cluster.limit()
    return cluster


def test_a_member_that_fetches_from_another_node_alone_stays(cluster: Polling) -> None:
    assert cluster.live(40, fetches=True) == 0


def test_a_member_that_fetches_from_no_node_is_removed(cluster: Polling) -> None:
    assert cluster.live(9, fetches=True) == 0
    assert cluster.live(8) == 0
    assert cluster.live(6) == ErrorCode.UNKNOWN_MEMBER_ID
    assert cluster.status() == "lost"


def test_the_servers_own_limit_knows_of_fetches_elsewhere_too() -> None:
    cluster = Polling(kawal_max_poll_interval_ms=LIMIT_MS)
    assert cluster.live(40, fetches=True) == 0
    assert cluster.live(16) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_is_not_removed_while_the_node_that_it_reads_from_is_away(cluster: Polling) -> None:
    cluster.kill(cluster.elsewhere)
    for _ in range(30):
        cluster.advance(1_000)
        answer = cluster.beat(cluster.epoch)
        assert answer.error_code == 0


def test_after_the_other_node_has_started_again_its_members_have_the_whole_interval(
    cluster: Polling,
) -> None:
    cluster.live(8, fetches=True)
    cluster.kill(cluster.elsewhere)
    cluster.live(8)
    cluster.revive(cluster.elsewhere)
    assert cluster.live(9) == 0
    assert cluster.live(6) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_commits_while_the_other_node_is_asked_stays(cluster: Polling) -> None:
    cluster.live(9)
    cluster.hung.add(cluster.elsewhere)
    cluster.advance(3_000)
    assert cluster.sent, "the question waits"
    client = cluster[cluster.coordinator].client()
    commit(client, cluster.group, ("t", 0, 1), member=("m", cluster.epoch))
    cluster.wake(cluster.elsewhere)
    assert cluster.live(6) == 0
    assert cluster.live(6) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_node_that_hangs_keeps_members_in_their_group_and_others_are_looked_at(cluster: Polling) -> None:
    cluster.live(9)
    cluster.hung.add(cluster.elsewhere)
    assert cluster.live(20) == 0
    cluster.wake(cluster.elsewhere)
    assert cluster.live(8) == ErrorCode.UNKNOWN_MEMBER_ID


def test_many_members_are_asked_about_in_parts(cluster: Polling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls_elsewhere, "PARTITIONS_MAX", 1)
    names = [f"n{number}" for number in range(4)]
    for name in names:
        create(cluster[0].client(), name)
        cluster.settle()
    epochs = {}
    for name in names:
        client = cluster[cluster.coordinator].client()
        epochs[name] = cluster.call(client, beating(cluster.group, name, topics=[name]), 1).member_epoch
    for _ in range(30):
        cluster.advance(1_000)
        cluster.beat(cluster.epoch)
        fetch(cluster.reader, "t")
        for name in names:
            client = cluster[cluster.coordinator].client()
            answer = cluster.call(client, beating(cluster.group, name, epochs[name]), 1)
            epochs[name] = answer.member_epoch or epochs[name]
    request = KawalGroupsRequest(group_ids=[cluster.group])
    rows = cluster.call(cluster[cluster.coordinator].client(), request, 0).consumers
    statuses = {row.consumer_id: row.status for row in rows}
    assert statuses["m"] != "lost"
    assert {statuses[name] for name in names} == {"lost"}
