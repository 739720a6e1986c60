"""`__kawal_storage_state` of several nodes: the leader of the topic tells of the logs of all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.catalogue.topic import STORAGE_TOPIC
from broker.upkeep import own_logs
from broker.upkeep.storage_topic import INTERVAL_MS, StorageTopic
from tests.broker.cluster import UNANSWERED, UNSENT, Cluster
from tests.broker.databases import create_database, drop_database
from tests.broker.kit import batch, create, fetch, records_of, send


class Telling(Cluster):
    """Nodes of which each would tell of the logs."""

    def __init__(self, count: int = 2, **settings: Any) -> None:
        super().__init__(count, kawal_segment_bytes=1 << 16, **settings)
        for number in range(count):
            self._begin(number)

    def _begin(self, number: int) -> None:
        broker = self.nodes[number].broker
        StorageTopic(broker, broker, broker.vnodes)

    def begin_again(self, number: int) -> None:
        """Start a node that was killed."""
        self.revive(number)
        self._begin(number)

    @property
    def leader(self) -> int:
        """The number of the node that leads the topic."""
        broker = self.nodes[0].broker
        return broker.topics.leader(broker.catalogue.by_name[STORAGE_TOPIC], 0)[0]

    def told(self) -> list[tuple[str, Any]]:
        """Return all records of the topic."""
        client = self.nodes[self.leader].client()
        found: list[tuple[str, Any]] = []
        while (data := fetch(client, STORAGE_TOPIC, len(found))).records:
            for record in records_of(data.records):
                value = json.loads(record.value) if record.value else None
                found.append(((record.key or b"").decode(), value))
        return found

    def newest(self) -> dict[str, Any]:
        """Return what is left when the topic is compacted."""
        return {name: value for name, value in dict(self.told()).items() if value is not None}

    def pass_some(self, looks: int = 4) -> None:
        """Let some looks pass, and what they say to each other."""
        for _ in range(looks):
            self.advance(INTERVAL_MS)


@pytest.fixture
def cluster() -> Telling:
    """Two nodes that have told of all logs."""
    cluster = Telling()
    cluster.pass_some()
    return cluster


ALL = [f"default/vnode-{index}" for index in range(4)] + ["meta/vnode-0"]


@pytest.mark.parametrize("own_directories", [False, True], ids=["workers", "machines"])
def test_each_log_of_each_node_is_told_once_with_its_node(own_directories: bool) -> None:
    cluster = Telling(own_directories=own_directories)
    cluster.pass_some()
    found = cluster.newest()
    assert sorted(found) == ALL
    assert [found[name]["node"] for name in ALL] == [0, 1, 0, 1, 0]
    assert all(value["log"] == name for name, value in found.items())
    count = len(cluster.told())
    cluster.pass_some(10)
    assert len(cluster.told()) == count, "nothing that has not changed is told again"


def fill(cluster: Telling, number: int, name: str) -> None:
    """Fill segments of the logs of a node."""
    create(cluster[0].client(), name, 4)
    cluster.settle()
    topics = cluster[number].broker.topics
    topic = cluster[number].broker.catalogue.by_name[name]
    (index, _) = [index for index in range(4) if topics.leader(topic, index)[0] == number]
    for each in range(300):
        send(cluster[number].client(), name, batch(b"%d" % each * 2_000), partition=index)


def test_a_change_at_another_node_is_told(cluster: Telling) -> None:
    number = 1 - cluster.leader
    before = cluster.newest()
    fill(cluster, number, "t")
    cluster.pass_some()
    after = cluster.newest()
    grown = [name for name in ALL if after[name]["segments"]["count"] > before[name]["segments"]["count"] + 5]
    assert [after[name]["node"] for name in grown] == [number]


@pytest.mark.parametrize("mishap", [UNSENT, UNANSWERED])
def test_a_node_that_does_not_answer_is_asked_again(mishap: str) -> None:
    cluster = Telling()
    cluster.advance(INTERVAL_MS)
    cluster.mishaps += [mishap] * 3
    cluster.pass_some(6)
    assert sorted(cluster.newest()) == ALL


def test_a_node_that_dies_keeps_what_was_told_of_it_and_is_told_again_when_it_is_back(
    cluster: Telling,
) -> None:
    number = 1 - cluster.leader
    cluster.kill(number)
    cluster.pass_some()
    assert sorted(cluster.newest()) == ALL
    cluster.begin_again(number)
    fill(cluster, number, "t")
    cluster.pass_some()
    values = [value for _, value in cluster.told()]
    assert None not in values
    assert len([value for value in values if value["node"] == number]) > 2


def test_a_leader_that_dies_tells_of_all_logs_when_it_is_back(cluster: Telling) -> None:
    number = 1 - cluster.leader
    leader = cluster.leader
    cluster.kill(leader)
    cluster.pass_some()
    cluster.begin_again(leader)
    count = len(cluster.told())
    fill(cluster, number, "t")
    cluster.pass_some()
    assert {key for key, _ in cluster.told()[count:]} == set(ALL)


def test_the_logs_of_a_dropped_database_are_told_as_null_wherever_they_were(cluster: Telling) -> None:
    create_database(cluster[0].client(), "power", vnodes="2")
    cluster.pass_some()
    names = sorted(cluster.newest().keys() - set(ALL))
    assert names == ["power/vnode-0", "power/vnode-1"]
    drop_database(cluster[0].client(), "power")
    cluster.pass_some()
    assert sorted(cluster.newest()) == ALL
    assert sorted(name for name, value in cluster.told() if value is None) == names


def test_very_many_logs_have_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_logs, "LOGS_PER_BATCH", 1)
    cluster = Telling()
    cluster.pass_some(12)
    assert sorted(cluster.newest()) == ALL
